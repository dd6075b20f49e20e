/// An instant in whole seconds since 1970-01-01T00:00:00Z: JWT's `NumericDate` (RFC 7519 §2) without its fraction.
public struct UnixTime: Hashable, Comparable, Sendable, CustomStringConvertible {
    public let seconds: Int64

    public init(seconds: Int64) { self.seconds = seconds }

    public static func < (a: UnixTime, b: UnixTime) -> Bool { a.seconds < b.seconds }

    /// Saturates instead of trapping: the operands come from tokens.
    public func adding(_ span: Seconds) -> UnixTime {
        let (sum, overflow) = seconds.addingReportingOverflow(span.count)
        return UnixTime(seconds: overflow ? (span.count > 0 ? .max : .min) : sum)
    }

    /// `self - earlier`, negative where `earlier` is later; saturates instead of trapping.
    public func since(_ earlier: UnixTime) -> Seconds {
        let (difference, overflow) = seconds.subtractingReportingOverflow(earlier.seconds)
        return Seconds(overflow ? (seconds < 0 ? .min : .max) : difference)
    }

    public var description: String { String(seconds) }
}

/// A span of whole seconds, the unit of `expires_in` and of every lifetime in the configuration.
public struct Seconds: Hashable, Comparable, Sendable, ExpressibleByIntegerLiteral, CustomStringConvertible {
    public let count: Int64

    public init(_ count: Int64) { self.count = count }
    public init(integerLiteral count: Int64) { self.count = count }

    public static func minutes(_ count: Int64) -> Seconds { Seconds(count, times: 60) }
    public static func hours(_ count: Int64) -> Seconds { Seconds(count, times: 3600) }
    public static func days(_ count: Int64) -> Seconds { Seconds(count, times: 86_400) }

    /// Saturates instead of trapping: the count may come from a configuration.
    private init(_ count: Int64, times unit: Int64) {
        let (product, overflow) = count.multipliedReportingOverflow(by: unit)
        self.init(overflow ? (count < 0 ? .min : .max) : product)
    }

    public static func < (a: Seconds, b: Seconds) -> Bool { a.count < b.count }
    public var description: String { "\(count)s" }
}

/// The wall clock. An argument everywhere, so that expiry at the exact second can be tested.
public protocol WallClock: Sendable {
    /// Milliseconds since 1970-01-01T00:00:00Z.
    var milliseconds: Int64 { get }
}

extension WallClock {
    public var now: UnixTime { UnixTime(seconds: milliseconds / 1000) }
}
