/// When to load the key set, and how long to use it.
public struct KeyCachePolicy: Sendable {
    /// Age at which the key set is reloaded in the background. A shorter `max-age` of the issuer takes precedence.
    public var refreshAfter: Duration
    /// The minimum time between two loads, whatever their cause. Forged tokens with unknown keys cause at most one
    /// load in this time. After repeated failures it grows up to sixteenfold.
    public var coolDown: Duration
    /// The key set is unusable after this time without a successful load.
    public var staleIfError: Duration
    /// The time limit of one load.
    public var timeout: Duration

    /// By default: 1 hour, 30 s, 24 hours, 5 s.
    public init(
        refreshAfter: Duration = .seconds(3600), coolDown: Duration = .seconds(30),
        staleIfError: Duration = .seconds(24 * 3600), timeout: Duration = .seconds(5)
    ) {
        self.refreshAfter = refreshAfter
        self.coolDown = coolDown
        self.staleIfError = staleIfError
        self.timeout = timeout
    }
}
