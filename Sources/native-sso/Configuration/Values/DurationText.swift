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
