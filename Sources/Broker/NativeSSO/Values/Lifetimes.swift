/// The spans that hold for every issuer and client which says nothing else.
public struct Lifetimes: Sendable, Hashable {
    /// `expires_in` of an access token.
    public let accessToken: Seconds
    /// How long a lost refresh answer may be asked for again where a key binds the client.
    public let refreshGrace: Seconds
    /// The same where nothing but the token itself shows who is asking.
    public let unboundRefreshGrace: Seconds
    /// Longest time between two uses of a session.
    public let sessionIdle: Seconds

    public init(
        accessToken: Seconds = .minutes(5), refreshGrace: Seconds = 60, unboundRefreshGrace: Seconds = 10,
        sessionIdle: Seconds = .days(30)
    ) {
        self.accessToken = accessToken
        self.refreshGrace = refreshGrace
        self.unboundRefreshGrace = unboundRefreshGrace
        self.sessionIdle = sessionIdle
    }
}
