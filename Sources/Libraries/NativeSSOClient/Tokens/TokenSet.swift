public import OAuthWire
import StrictCoding

/// A successful response of a token endpoint, RFC 6749 §5.1. Its secrets print as `****`.
public struct TokenSet: Sendable {
    /// `access_token`.
    public let accessToken: Credential
    /// Usually `Bearer`; compare without regard to case (RFC 6749 §7.1).
    public let tokenType: String
    /// Whether the access token requires a DPoP proof by the app's key, and is sent as `Authorization: DPoP …`
    /// (RFC 9449 §7.1).
    public var isBoundToKey: Bool { tokenType.lowercased() == "dpop" }
    /// Whether this library knows how to use the access token. RFC 6749 §7.1: an app must not use one of another type.
    var isUsable: Bool { isBoundToKey || tokenType.lowercased() == "bearer" }
    /// The access token's lifetime in seconds; nil if the response does not contain it.
    public let expiresIn: Int64?
    /// The granted scopes; nil if they equal the requested ones (RFC 6749 §5.1).
    public let scope: String?
    /// `refresh_token`.
    public let refreshToken: Credential?
    /// `id_token` (OpenID Connect Core §3.1.3.3).
    public let idToken: Credential?
    /// `idp_id_token`: the identity provider's, beside the broker's. Send it there as `id_token_hint` (OpenID Connect
    /// RP-Initiated Logout §2).
    public let providerIDToken: Credential?
    /// `device_secret` (Native SSO §3.3).
    public let deviceSecret: Credential?

    /// nil if the body is not a valid response.
    init?(_ body: [UInt8]) {
        guard let json = (try? JSONReader.parse(body))?.object, !json.contains("error"),
            let accessToken = json.string("access_token"), !accessToken.isEmpty,
            let tokenType = json.string("token_type")
        else { return nil }
        self.accessToken = Credential(accessToken)
        self.tokenType = tokenType
        expiresIn = json.number("expires_in")?.wholeSeconds
        scope = json.string("scope")
        refreshToken = json.string("refresh_token").map(Credential.init)
        idToken = json.string("id_token").map(Credential.init)
        providerIDToken = json.string("idp_id_token").map(Credential.init)
        deviceSecret = json.string("device_secret").map(Credential.init)
    }
}
