/// What a token request gives to the app. RFC 6749 §5.1, RFC 8693 §2.2.1, Native SSO §3.3. Prints as `****`.
public struct TokenAnswer: Sendable, CustomStringConvertible, CustomReflectable {
    /// What a token exchange issued: it is called `access_token` in any case.
    public enum Issued: Sendable {
        case accessToken, idToken
    }

    public let accessToken: String
    /// `nil`: this is not the answer to a token exchange.
    public let issued: Issued?
    /// Whether it is bound to the key of the request's proof: `token_type` is then `DPoP`. RFC 9449 §5.
    public let isBound: Bool
    /// `nil` where an identity provider whose token it is did not say.
    public let expiresIn: Seconds?
    /// `nil` where nothing was asked for and no access token of this broker is issued, or an identity provider did not say.
    public let scope: String?
    public let refreshToken: String?
    public let idToken: String?
    public let deviceSecret: String?

    public init(
        accessToken: String, issued: Issued? = nil, isBound: Bool = false, expiresIn: Seconds?, scope: String?,
        refreshToken: String? = nil, idToken: String? = nil, deviceSecret: String? = nil
    ) {
        self.accessToken = accessToken
        self.issued = issued
        self.isBound = isBound
        self.expiresIn = expiresIn
        self.scope = scope
        self.refreshToken = refreshToken
        self.idToken = idToken
        self.deviceSecret = deviceSecret
    }

    /// What the identity provider gave for a code, as it said it.
    public init(_ tokens: ProviderTokens) {
        self.init(
            accessToken: tokens.accessToken, expiresIn: tokens.expiresIn.map { Seconds($0) }, scope: tokens.scope,
            refreshToken: tokens.refreshToken, idToken: tokens.idToken, deviceSecret: tokens.deviceSecret)
    }

    public var description: String { "TokenAnswer(****)" }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
