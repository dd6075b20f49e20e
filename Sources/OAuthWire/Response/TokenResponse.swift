import StrictCoding

/// The body of a successful answer. RFC 6749 §5.1, RFC 8693 §2.2.1. Prints as `****`.
public struct TokenResponse: Sendable, CustomStringConvertible, CustomReflectable {
    public var accessToken: String
    /// Only in the answer to a token exchange.
    public var issuedTokenType: TokenTypeURI?
    public var tokenType: TokenType
    /// Seconds; `nil` where an identity provider whose token it is did not say.
    public var expiresIn: Int64?
    /// What was granted; written with every access token, so that the app need not remember what it asked for.
    public var scope: String?
    public var refreshToken: String?
    public var idToken: String?
    /// Native SSO §3.3.
    public var deviceSecret: String?

    public init(
        accessToken: String, issuedTokenType: TokenTypeURI?, tokenType: TokenType, expiresIn: Int64?, scope: String?,
        refreshToken: String? = nil, idToken: String? = nil, deviceSecret: String? = nil
    ) {
        self.accessToken = accessToken
        self.issuedTokenType = issuedTokenType
        self.tokenType = tokenType
        self.expiresIn = expiresIn
        self.scope = scope
        self.refreshToken = refreshToken
        self.idToken = idToken
        self.deviceSecret = deviceSecret
    }

    public var json: [UInt8] {
        var json = JSONWriter(reservingCapacity: 2048)
        json.object { json in
            json.member("access_token", accessToken)
            if let issuedTokenType { json.member("issued_token_type", issuedTokenType.rawValue) }
            json.member("token_type", tokenType.rawValue)
            if let expiresIn { json.member("expires_in", expiresIn) }
            if let scope { json.member("scope", scope) }
            if let refreshToken { json.member("refresh_token", refreshToken) }
            if let idToken { json.member("id_token", idToken) }
            if let deviceSecret { json.member("device_secret", deviceSecret) }
        }
        return json.bytes
    }

    public var description: String { "TokenResponse(****)" }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
