import Dispatch
import Glibc
import NativeSSO
import PostgresClient
import RegularFiles
import Registry
import StrictCoding
import UnixSignals

/// `audit export --follow`: a copy of the audit elsewhere, an event a line.
///
/// Each line is written once at least: a position is kept only after standard output took the lines up to it.
struct AuditFollowing: Sendable {
    let database: Configuration.Database
    let output: CommandOutput
    /// Go on after this event; `nil`: begin with the oldest one.
    let start: AuditMark?
    let file: AuditPositionFile?
    /// A slow reader blocks its thread alone.
    private let queue = DispatchQueue(label: "standard output")

    private static let interval: Duration = .seconds(1)
    private static let longestPause: Duration = .seconds(30)
    /// How long a reader may take for the last lines after SIGTERM.
    private static let patience: Duration = .seconds(5)

    init(_ database: Configuration.Database, _ output: CommandOutput, start: AuditMark?, file: AuditPositionFile?) {
        (self.database, self.output, self.start, self.file) = (database, output, start, file)
    }

    /// Returns after SIGTERM or SIGINT.
    func run() async throws {
        let following = Task { try await follow() }
        let stopping = Task {
            for await _ in await UnixSignalsSequence(trapping: .sigterm, .sigint) { break }
            guard !Task.isCancelled else { return }
            following.cancel()
            try await Task.sleep(for: Self.patience)
            // The reader takes nothing. The same lines come again at the next start.
            NativeSSOCommand.end(with: .done)
        }
        defer { stopping.cancel() }
        try await following.value
    }

    private func follow() async throws {
        do {
            try await database.administer(within: .seconds(5)) { try await follow($0) }
        } catch AdministrationError.database(.server(let state, _, _)) where state.code == "42501" {
            throw CommandFailure.infrastructure(
                "the database user may not read the audit: give the connection of a member of native_sso_audit in "
                    + "NATIVE_SSO_DATABASE_URL or in a configuration of its own (--config)")
        }
    }

    private func follow(_ registry: Administration) async throws {
        var cursor = AuditCursor(after: start)
        var pause = Self.interval
        while !Task.isCancelled {
            guard !StandardStream.output.isClosed else { throw CommandFailure.outputClosed }
            let page: AuditPage
            do throws(AdministrationError) {
                page = try await registry.audit(&cursor)
            } catch {
                guard !Task.isCancelled else { return }
                guard error.isOutage else { throw error }
                if pause == Self.interval { output.warn(CommandFailure(causedBy: error)?.lines ?? []) }
                pause = min(pause * 2, Self.longestPause)
                try? await Task.sleep(for: pause)
                continue
            }
            if pause > Self.interval { output.warn(["native-sso: the audit is read again"]) }
            pause = Self.interval
            try await write(page)
            if page.isLast { try? await Task.sleep(for: Self.interval) }
        }
    }

    private func write(_ page: AuditPage) async throws(CommandFailure) {
        var lines: [UInt8] = []
        if let gap = page.gap {
            output.warn(["native-sso: \(gap.explanation)"])
            lines += CommandOutput.json { json in json.object { gap.members(to: &$0) } }
        }
        for record in page.records {
            lines += CommandOutput.json { json in
                json.object { json in
                    record.members(to: &json)
                    json.member("position", record.mark.description)
                }
            }
        }
        guard !lines.isEmpty else { return }
        let written = await withCheckedContinuation {
            (caller: CheckedContinuation<Result<Void, CommandFailure>, Never>) in
            queue.async { [lines] in
                caller.resume(
                    returning: Result { () throws(CommandFailure) in try StandardStream.output.write(lines) })
            }
        }
        try written.get()
        if let last = page.records.last { try file?.keep(last.mark) }
    }
}

extension AuditGap {
    fileprivate var explanation: String {
        let place = after.map { " after position \($0)" } ?? ""
        switch cause {
        case .retention:
            return "there may be a gap\(place): retention removed this event, and perhaps later ones not written yet"
        case .databaseWentBack:
            let start = again.map { "from \(UnixTime(seconds: $0.flooredSeconds).rfc3339) on" } ?? "from the oldest on"
            return "the database went back\(place), which is not in the audit as it was; events \(start) come again"
        }
    }

    fileprivate func members(to json: inout JSONWriter) {
        json.member("gap", cause.rawValue)
        Cell(after?.description).write(as: "after", to: &json)
        Cell(again.map { UnixTime(seconds: $0.flooredSeconds) }).write(as: "again_from", to: &json)
    }
}

extension AdministrationError {
    /// The same call may succeed later.
    fileprivate var isOutage: Bool {
        switch self {
        case .database(.unavailable), .database(.outcomeUnknown): true
        case .database(.server(let state, _, _)): state.isTransient
        case .database(.unexpectedResult), .notFound, .alreadyExists, .refused, .corrupt: false
        }
    }
}

/// The position of a copy of the audit, on one line.
struct AuditPositionFile: Sendable {
    let path: String

    /// `nil`: there is no file yet.
    func read() throws(CommandFailure) -> AuditMark? {
        guard access(path, F_OK) == 0 || errno != ENOENT else { return nil }
        let octets: [UInt8]
        do throws(RegularFile.Failure) {
            octets = try RegularFile.read(path, limit: 200).octets
        } catch {
            throw .usage("the file of --position cannot be read: \(path): \(error)")
        }
        let line = String(decoding: octets, as: UTF8.self).filter { !$0.isNewline }
        guard let mark = AuditMark(argument: line) else {
            throw .usage("the file of --position holds no position: \(path)")
        }
        return mark
    }

    /// Replaces the file at once, so that it always holds a whole position.
    func keep(_ mark: AuditMark) throws(CommandFailure) {
        let new = "\(path).new"
        let descriptor = open(new, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failure() }
        defer { close(descriptor) }
        guard descriptor.write(all: Array("\(mark)\n".utf8)), fsync(descriptor) == 0, rename(new, path) == 0 else {
            throw failure()
        }
    }

    private func failure() -> CommandFailure {
        .infrastructure("the position cannot be kept in \(path): \(String(cString: strerror(errno)))")
    }
}
