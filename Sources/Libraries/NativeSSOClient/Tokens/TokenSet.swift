public import OAuthWire
import StrictCoding

/// A successful answer of a token endpoint. Its secrets print as `****`.
public struct TokenSet: Sendable {
    public let accessToken: Credential
    /// `Bearer` in most cases; compared without regard to case (RFC 6749 §7.1).
    public let tokenType: String
    /// Whether the access token is good only together with a proof by the app's key: it travels as `Authorization: DPoP …`.
    public var isBoundToKey: Bool { tokenType.lowercased() == "dpop" }
    /// Seconds from the answer; nil if the endpoint does not say.
    public let expiresIn: Int64?
    /// What was granted; nil if it is what was asked for (RFC 6749 §5.1).
    public let scope: String?
    public let refreshToken: Credential?
    public let idToken: Credential?
    /// Native SSO §3.3.
    public let deviceSecret: Credential?

    /// nil if the body is none.
    init?(_ body: [UInt8]) {
        guard let json = (try? JSONReader.parse(body))?.object, let accessToken = json.string("access_token"),
            !accessToken.isEmpty, let tokenType = json.string("token_type")
        else { return nil }
        self.accessToken = Credential(accessToken)
        self.tokenType = tokenType
        expiresIn = json.number("expires_in")?.wholeSeconds
        scope = json.string("scope")
        refreshToken = json.string("refresh_token").map(Credential.init)
        idToken = json.string("id_token").map(Credential.init)
        deviceSecret = json.string("device_secret").map(Credential.init)
    }
}
