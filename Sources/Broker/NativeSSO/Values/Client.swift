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

    /// Whether the app shows with each request that it holds a key: a DPoP proof, RFC 9449.
    public enum ProofPolicy: String, Sendable, CaseIterable {
        /// No proof is looked at, as if the broker knew of none. New tokens are bearer tokens.
        case off
        /// Whoever sends a proof gets tokens that are bound to its key.
        case optional
        /// RFC 9449 §5.2: `dpop_bound_access_tokens`.
        case required
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
    public var proofPolicy: ProofPolicy

    public init(
        id: ClientID, authentication: Authentication = .none, isEnabled: Bool = true,
        grants: Set<Grant> = Set(Grant.allCases), allowedScope: Scope, defaultScope: Scope, audiences: [String],
        accessTokenLifetime: Seconds? = nil, refreshTokenLifetime: Seconds? = nil, issuesRefreshToken: Bool = true,
        issuesIDToken: Bool = false, includesSessionID: Bool = false, allowsSelfExchange: Bool = false,
        acceptedContextClasses: [String] = [], maximumAuthenticationAge: Seconds? = nil,
        proofPolicy: ProofPolicy = .off
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
        self.proofPolicy = proofPolicy
    }

    /// A public client is known by its key alone, where it has one: what it got with one key is for that key. A confidential
    /// one is known by how it authenticates, and may change the key. RFC 9449 §5.
    public var isKnownByKey: Bool { authentication == .none && proofPolicy != .off }
}
