import BrokerHTTP
import NativeSSO

/// Durations: one whole number and one unit, such as `90d`, `12h`, `30m` or `60s`. A number without a unit is ambiguous.
enum DurationText {
    private static let units: [(letter: String, seconds: Int64)] = [("d", 86_400), ("h", 3600), ("m", 60), ("s", 1)]

    static func parse(_ text: String, in bounds: ClosedRange<Seconds>) throws(ValueDefect) -> Seconds {
        guard let span = parse(text) else {
            throw ValueDefect("write a whole number and a unit, such as 90d, 12h, 30m or 60s")
        }
        guard bounds.contains(span) else {
            throw ValueDefect("must be from \(format(bounds.lowerBound)) to \(format(bounds.upperBound))")
        }
        return span
    }

    /// `nil` for anything but digits and a unit, and for spans that do not fit.
    static func parse(_ text: String) -> Seconds? {
        guard let unit = units.first(where: { text.utf8.last == $0.letter.utf8.first }) else { return nil }
        let digits = text.utf8.dropLast()
        guard !digits.isEmpty, digits.allSatisfy({ (0x30...0x39).contains($0) }), let count = Int64(Substring(digits))
        else { return nil }
        let (seconds, overflow) = count.multipliedReportingOverflow(by: unit.seconds)
        return overflow ? nil : Seconds(seconds)
    }

    /// In the largest unit that divides it.
    static func format(_ span: Seconds) -> String {
        for unit in units where span.count != 0 && span.count % unit.seconds == 0 {
            return "\(span.count / unit.seconds)\(unit.letter)"
        }
        return "\(span.count)s"
    }
}

/// Whole numbers in decimal digits.
enum IntegerText {
    static func parse(_ text: String, in bounds: ClosedRange<Int>) throws(ValueDefect) -> Int {
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(text),
            bounds.contains(number)
        else { throw ValueDefect("write a whole number from \(bounds.lowerBound) to \(bounds.upperBound)") }
        return number
    }
}

/// Rates: `60/1m` is 60 at once, and then 60 in each minute; `off` is no limit.
struct RateText: CustomStringConvertible {
    /// `nil`: no limit.
    let limit: RateLimit?

    private static let counts = 1...1_000_000
    private static let periods: ClosedRange<Seconds> = 1 ... .days(1)

    var description: String {
        limit.map { "\($0.burst)/" + DurationText.format(Seconds(($0.interval * $0.burst).components.seconds)) }
            ?? "off"
    }

    static func parse(_ text: String) throws(ValueDefect) -> RateText {
        if text == "off" { return RateText(limit: nil) }
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2 else { throw ValueDefect("write how many in how long, such as 60/1m, or off") }
        let count = try IntegerText.parse(String(parts[0]), in: counts)
        let period = try DurationText.parse(String(parts[1]), in: periods)
        return RateText(limit: RateLimit(count, per: .seconds(period.count)))
    }
}

/// The `NATIVE_SSO_…` variables of the environment. Every scalar key outside lists has one, named after its path.
final class Variables {
    static let prefix = "NATIVE_SSO_"

    private let values: [String: String]
    /// The names of all keys that were read.
    private var known: Set<String> = []

    init(_ environment: [String: String]) {
        values = environment.filter { $0.key.hasPrefix(Self.prefix) }
    }

    static func name(of path: String) -> String {
        prefix + path.uppercased().replacing(".", with: "_")
    }

    func value(of path: String) -> String? {
        let name = Self.name(of: path)
        known.insert(name)
        return values[name]
    }

    func isSet(_ path: String) -> Bool { values[Self.name(of: path)] != nil }

    /// Reports the variables without a key. Call it after reading every key.
    /// - Parameter others: Variables whose keys were not read.
    func reportUnknown(to problems: Problems, besides others: [String] = []) {
        let known = known.union(others)
        for name in values.keys where !known.contains(name) {
            let suggestion = NearestName.of(name, among: known).map { "did you mean \($0)?" } ?? "unset it"
            problems.report(
                Place(origin: .variable(name), key: ""), "is not a variable of the configuration; \(suggestion)")
        }
    }
}

/// Finds the intended name of a misspelled one.
enum NearestName {
    /// The candidate with the fewest edits, if at most a third of the name is wrong.
    static func of(_ name: String, among candidates: some Sequence<String>) -> String? {
        let limit = max(1, name.utf8.count / 3)
        return candidates.sorted()
            .map { (distance: distance(Array(name.utf8), Array($0.utf8)), candidate: $0) }
            .filter { $0.distance <= limit }
            .min { $0.distance < $1.distance }?
            .candidate
    }

    /// Insertions, deletions, replacements and swaps of neighbours (optimal string alignment).
    private static func distance(_ a: [UInt8], _ b: [UInt8]) -> Int {
        guard !a.isEmpty, !b.isEmpty, a.count <= 64 else { return max(a.count, b.count) }
        var beforeLast: [Int] = []
        var last = Array(0...b.count)
        for i in 1...a.count {
            var row = [i]
            for j in 1...b.count {
                var best = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1))
                if i > 1, j > 1, a[i - 1] == b[j - 2], a[i - 2] == b[j - 1] { best = min(best, beforeLast[j - 2] + 1) }
                row.append(best)
            }
            beforeLast = last
            last = row
        }
        return last[b.count]
    }
}
