/// When the key set is loaded, and how long it is used.
public struct KeyCachePolicy: Sendable {
    /// A set older than this is loaded again in the background while requests go on with it. A shorter `max-age` of the issuer
    /// counts instead.
    public var refreshAfter: Duration
    /// The least time between two loads, whatever tokens, errors or the issuer's `max-age` ask for. Unknown keys in made-up
    /// tokens thus cause one load in this time at most.
    public var coolDown: Duration
    /// After how long without a successful load the keys are not used any more.
    public var staleIfError: Duration
    /// How long one load may take.
    public var timeout: Duration

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
