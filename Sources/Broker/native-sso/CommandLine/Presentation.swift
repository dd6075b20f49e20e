import Glibc
import NativeSSO
import Synchronization

/// How results are shown to people.
struct Presentation: Sendable {
    /// Columns of the terminal; `nil`: the output is not a terminal.
    var width: Int?
    /// Whether instants are shown in UTC instead of local time.
    var isUTC = true

    @TaskLocal static var current = Presentation()
}

extension StandardStream {
    var isTerminal: Bool { isatty(rawValue) == 1 }

    /// Columns of the terminal; `nil`: not a terminal, or their number is not known.
    var width: Int? {
        var size = winsize()
        guard isTerminal, ioctl(rawValue, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return Int(size.ws_col)
    }
}

extension UnixTime {
    /// RFC 3339, in UTC or in the time zone of the process. Clamped like ``rfc3339``.
    func shown(_ presentation: Presentation) -> String {
        let utc = rfc3339
        var (moment, parts) = (time_t(seconds), tm())
        guard !presentation.isUTC, utc.utf8.count == 20, localtime_r(&moment, &parts) != nil, parts.tm_gmtoff != 0
        else {
            return utc
        }
        // What the clock on the wall shows is the UTC of a moment that is as much later as the zone is ahead.
        let wall = UnixTime(seconds: seconds + Int64(parts.tm_gmtoff)).rfc3339.dropLast()
        let (sign, minutes) = (parts.tm_gmtoff < 0 ? "-" : "+", abs(parts.tm_gmtoff) / 60)
        return "\(wall)\(sign)\(Self.twoDigits(minutes / 60)):\(Self.twoDigits(minutes % 60))"
    }

    private static func twoDigits(_ number: Int) -> String { (number < 10 ? "0" : "") + String(number) }
}

/// Tells a person who waits for more than a second what goes on, on standard error if that is a terminal.
final class Progress: Sendable {
    private let done = Atomic<Int64>(0)

    @TaskLocal private static var current: Progress?

    /// Counts things that are done, such as ended sessions.
    static func add(_ count: Int) { current?.done.add(Int64(count), ordering: .relaxed) }

    static func showing<Value: Sendable>(
        _ what: String, _ body: () async throws -> Value
    ) async rethrows -> Value {
        guard StandardStream.error.isTerminal else { return try await body() }
        let progress = Progress()
        let reports = Task { await progress.report(what) }
        func end() async {
            reports.cancel()
            if await reports.value { Self.write("\r\u{1B}[K") }
        }
        do {
            let value = try await $current.withValue(progress) { try await body() }
            await end()
            return value
        } catch {
            // The message about the failure gets a line of its own.
            await end()
            throw error
        }
    }

    /// - Returns: Whether something was shown.
    private func report(_ what: String) async -> Bool {
        let begin = ContinuousClock.now
        var hasShown = false
        while true {
            guard (try? await Task.sleep(for: .seconds(1))) != nil else { return hasShown }
            let count = done.load(ordering: .relaxed)
            let seconds = (ContinuousClock.now - begin).components.seconds
            let text = "\(what)\(count == 0 ? "" : ": \(count) done") … \(seconds) s"
            // One line, which the next one overwrites.
            let width = StandardStream.error.width ?? 80
            Self.write("\r\(TerminalText.escaped(text).prefix(max(width - 1, 20)))\u{1B}[K")
            hasShown = true
        }
    }

    private static func write(_ text: String) { try? StandardStream.error.write(Array(text.utf8)) }
}
