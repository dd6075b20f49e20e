import BrokerHTTP
import NativeSSO

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
