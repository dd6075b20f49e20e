/// A logout token as presented. It prints as `****`: it names a user.
public struct LogoutToken: Sendable, CustomStringConvertible, CustomReflectable {
    public let octets: [UInt8]

    public init(_ text: String) { octets = Array(text.utf8) }

    public var description: String { "****" }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// Whose sessions a logout token ends. OpenID Connect Back-Channel Logout 1.0 §2.4.
public enum LogoutSubject: Sendable, Hashable {
    /// One session. A `sub` beside it says nothing more: `sid` is unique at its issuer, and a `sub` may be another in the
    /// eyes of each client (OpenID Connect Core §8.1).
    case session(SessionID)
    /// Every session of the user.
    case user(Subject)
}

/// What a verified logout token says, with the shape rules of Back-Channel Logout 1.0 §2.4 and §2.6 already kept.
public struct LogoutTokenClaims: Sendable, Hashable {
    public let issuer: Issuer
    public let subject: LogoutSubject
    /// Every member of `aud`.
    public let audience: [ClientID]
    public let issuedAt: UnixTime
    /// `jti`: unique at its issuer.
    public let tokenID: String
    /// Later than this the token is refused for its age.
    public let refusedAfter: UnixTime

    public init(
        issuer: Issuer, subject: LogoutSubject, audience: [ClientID], issuedAt: UnixTime, tokenID: String,
        refusedAfter: UnixTime
    ) {
        self.issuer = issuer
        self.subject = subject
        self.audience = audience
        self.issuedAt = issuedAt
        self.tokenID = tokenID
        self.refusedAfter = refusedAfter
    }
}
