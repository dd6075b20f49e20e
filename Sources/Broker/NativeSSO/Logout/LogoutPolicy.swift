/// What the operator configured for the logouts of one identity provider.
public struct LogoutPolicy: Sendable, Hashable {
    /// As which clients the provider knows the broker, beside the apps that are registered here.
    public let audiences: [ClientID]
    /// Whether a logout token may come without `exp`, as older providers write them; its `iat` bounds its age then.
    public let allowsMissingExpiry: Bool
    /// Whether `typ` may be `JWT` or missing, as it may in an id_token: then only the claims tell the two apart.
    public let allowsJWTType: Bool
    /// What a logout token ends that names a session and its user.
    public let reach: LogoutReach

    public init(
        audiences: [ClientID] = [], allowsMissingExpiry: Bool = false, allowsJWTType: Bool = false,
        reach: LogoutReach = .nameless
    ) {
        self.audiences = audiences
        self.allowsMissingExpiry = allowsMissingExpiry
        self.allowsJWTType = allowsJWTType
        self.reach = reach
    }
}

/// How far a logout token reaches that has both `sid` and `sub`. The raw value is what an operator writes.
///
/// A login whose id_token has no `sid` is nameless here: nobody can say whether it is the session that ended, or another one.
public enum LogoutReach: String, Sendable, CaseIterable {
    /// The session, and nothing else: a nameless login of the user lives on, as whose session it may be. For providers that
    /// name a user who is not logged out otherwise, and whose id_tokens all have a `sid`.
    case session
    /// The session, and every nameless login of the user that began before. Of a user who is logged in twice without names
    /// both end, and who is logged out by mistake logs in again; the other way round, a login would outlive its logout.
    case nameless
    /// Every session of the user, as if the token had no `sid`: for providers whose `sid` in a logout token is not that of the
    /// id_tokens.
    case user
}
