/// The wall clock. An argument everywhere, so that expiry at the exact second can be tested.
public protocol WallClock: Sendable {
    /// Milliseconds since 1970-01-01T00:00:00Z.
    var milliseconds: Int64 { get }
}

extension WallClock {
    public var now: UnixTime { UnixTime(seconds: milliseconds / 1000) }
}
