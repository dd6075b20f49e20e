import BrokerHTTP
import NativeSSO

/// Spans as people write them: one whole number and one unit, `90d`, `12h`, `30m` or `60s`. Never a bare number, which
/// everyone reads in a unit of their own.
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

/// Rates as people write them: `60/1m` is 60 at once, and then 60 in each minute; `off` is none.
struct RateText {
    /// `nil`: no limit.
    let limit: RateLimit?

    private static let counts = 1...1_000_000
    private static let periods: ClosedRange<Seconds> = 1 ... .days(1)

    static func parse(_ text: String) throws(ValueDefect) -> RateText {
        if text == "off" { return RateText(limit: nil) }
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2 else { throw ValueDefect("write how many in how long, such as 60/1m, or off") }
        let count = try IntegerText.parse(String(parts[0]), in: counts)
        let period = try DurationText.parse(String(parts[1]), in: periods)
        return RateText(limit: RateLimit(count, per: .seconds(period.count)))
    }
}
