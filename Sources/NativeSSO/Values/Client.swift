/// An app as the registry knows it.
public struct Client: Sendable, Hashable {
    /// How the client proves who it is at the token endpoint. RFC 6749 §2.3; no other method is accepted for it.
    public enum Authentication: String, Sendable, CaseIterable {
        /// A public client: it is identified, not authenticated.
        case none
        case clientSecretBasic = "client_secret_basic"
        case privateKeyJWT = "private_key_jwt"
    }

    public enum Grant: String, Sendable, CaseIterable {
        case tokenExchange = "urn:ietf:params:oauth:grant-type:token-exchange"
        case refreshToken = "refresh_token"
    }

    public let id: ClientID
    public var authentication: Authentication
    public var isEnabled: Bool
    public var grants: Set<Grant>
    /// What it may ever be given.
    public var allowedScope: Scope
    /// What it gets when it names no scope.
    public var defaultScope: Scope
    /// The resource servers that its access tokens are for: `aud`. RFC 9068 §3.
    public var audiences: [String]
    public var accessTokenLifetime: Seconds?
    /// Absolute life of a refresh chain; that of the session where `nil`.
    public var refreshTokenLifetime: Seconds?
    /// Whether an exchange under draft 07 (or before) returns a refresh token; the 2018 profile always does.
    public var issuesRefreshToken: Bool
    /// Whether an exchange returns an id_token of ours beside the access token.
    public var issuesIDToken: Bool
    /// Whether access tokens carry `sid`.
    public var includesSessionID: Bool
    /// Whether the app may exchange an id_token that was made for itself.
    public var allowsSelfExchange: Bool
    /// `acr` values that are enough, any one of them; empty: any login is.
    public var acceptedContextClasses: [String]
    /// Longest time since the login; `nil`: no limit but the session's.
    public var maximumAuthenticationAge: Seconds?

    public init(
        id: ClientID, authentication: Authentication = .none, isEnabled: Bool = true,
        grants: Set<Grant> = Set(Grant.allCases), allowedScope: Scope, defaultScope: Scope, audiences: [String],
        accessTokenLifetime: Seconds? = nil, refreshTokenLifetime: Seconds? = nil, issuesRefreshToken: Bool = true,
        issuesIDToken: Bool = false, includesSessionID: Bool = false, allowsSelfExchange: Bool = false,
        acceptedContextClasses: [String] = [], maximumAuthenticationAge: Seconds? = nil
    ) {
        self.id = id
        self.authentication = authentication
        self.isEnabled = isEnabled
        self.grants = grants
        self.allowedScope = allowedScope
        self.defaultScope = defaultScope
        self.audiences = audiences
        self.accessTokenLifetime = accessTokenLifetime
        self.refreshTokenLifetime = refreshTokenLifetime
        self.issuesRefreshToken = issuesRefreshToken
        self.issuesIDToken = issuesIDToken
        self.includesSessionID = includesSessionID
        self.allowsSelfExchange = allowsSelfExchange
        self.acceptedContextClasses = acceptedContextClasses
        self.maximumAuthenticationAge = maximumAuthenticationAge
    }
}
