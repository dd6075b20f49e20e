package import StrictCoding

/// An instant in whole seconds since 1970-01-01T00:00:00Z: JWT's `NumericDate` (RFC 7519 §2) without its fraction.
package struct UnixTime: Hashable, Comparable, Sendable, CustomStringConvertible {
    package let seconds: Int64

    package init(seconds: Int64) { self.seconds = seconds }

    package static func < (a: UnixTime, b: UnixTime) -> Bool { a.seconds < b.seconds }

    /// Saturates instead of trapping: the operands come from tokens.
    package func adding(_ span: Seconds) -> UnixTime {
        let (sum, overflow) = seconds.addingReportingOverflow(span.count)
        return UnixTime(seconds: overflow ? (span.count > 0 ? .max : .min) : sum)
    }

    /// `self - earlier`, negative if `earlier` is later; saturates instead of trapping.
    package func since(_ earlier: UnixTime) -> Seconds {
        let (difference, overflow) = seconds.subtractingReportingOverflow(earlier.seconds)
        return Seconds(overflow ? (seconds < 0 ? .min : .max) : difference)
    }

    package var description: String { String(seconds) }
}

extension JSONObject {
    /// A NumericDate, rounded down; `nil` if it is absent, not one, or does not fit.
    package func time(_ name: String) -> UnixTime? { number(name)?.wholeSeconds.map(UnixTime.init(seconds:)) }
}

/// A span of whole seconds, the unit of `expires_in` and of every lifetime in the configuration.
package struct Seconds: Hashable, Comparable, Sendable, ExpressibleByIntegerLiteral, CustomStringConvertible {
    package let count: Int64

    package init(_ count: Int64) { self.count = count }
    package init(integerLiteral count: Int64) { self.count = count }

    package static func minutes(_ count: Int64) -> Seconds { Seconds(count, times: 60) }
    package static func hours(_ count: Int64) -> Seconds { Seconds(count, times: 3600) }
    package static func days(_ count: Int64) -> Seconds { Seconds(count, times: 86_400) }

    /// Saturates instead of trapping: the count may come from a configuration.
    private init(_ count: Int64, times unit: Int64) {
        let (product, overflow) = count.multipliedReportingOverflow(by: unit)
        self.init(overflow ? (count < 0 ? .min : .max) : product)
    }

    package static func < (a: Seconds, b: Seconds) -> Bool { a.count < b.count }
    package var description: String { "\(count)s" }
}

/// The wall clock. An argument everywhere, so that expiry at the exact second can be tested.
package protocol WallClock: Sendable {
    /// Milliseconds since 1970-01-01T00:00:00Z.
    var milliseconds: Int64 { get }
}

extension WallClock {
    package var now: UnixTime { UnixTime(seconds: milliseconds / 1000) }
}
