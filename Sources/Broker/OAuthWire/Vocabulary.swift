public import StrictCoding

/// Names of token-endpoint parameters on the wire.
public enum Parameter {
    // RFC 6749
    public static let grantType = "grant_type"
    public static let clientID = "client_id"
    public static let clientSecret = "client_secret"
    public static let scope = "scope"
    public static let refreshToken = "refresh_token"
    public static let code = "code"
    public static let redirectURI = "redirect_uri"
    public static let username = "username"
    public static let password = "password"
    // RFC 7636
    public static let codeVerifier = "code_verifier"
    // RFC 7009
    public static let token = "token"
    public static let tokenTypeHint = "token_type_hint"
    // RFC 7521
    public static let assertion = "assertion"
    public static let clientAssertion = "client_assertion"
    public static let clientAssertionType = "client_assertion_type"
    // RFC 8693
    public static let audience = "audience"
    public static let resource = "resource"
    public static let requestedTokenType = "requested_token_type"
    public static let subjectToken = "subject_token"
    public static let subjectTokenType = "subject_token_type"
    public static let actorToken = "actor_token"
    public static let actorTokenType = "actor_token_type"
    // Native SSO: the 2018 profile, draft 07
    public static let deviceID = "device_id"
    public static let deviceSecret = "device_secret"
    // The hand-off to a web app, an extension of this broker
    public static let handoffClient = "handoff_client"
    public static let handoffOrigin = "handoff_origin"
    public static let handoffChallenge = "handoff_challenge"
    public static let handoffVerifier = "handoff_verifier"
    // OpenID Connect Back-Channel Logout 1.0
    public static let logoutToken = "logout_token"
}

/// A token, secret or code as presented. Prints as `****`.
public struct Credential: Sendable, Redacted {
    /// The plain text. Never log it.
    public let secret: String

    public init(_ secret: String) { self.secret = secret }
}

/// `grant_type`: compared octet by octet, case-sensitive, not trimmed.
public enum GrantType: String, Sendable, CaseIterable {
    /// RFC 8693 §2.1.
    case tokenExchange = "urn:ietf:params:oauth:grant-type:token-exchange"
    /// RFC 6749 §6.
    case refreshToken = "refresh_token"
    /// RFC 6749 §4.1.3.
    case authorizationCode = "authorization_code"
}

/// `token_type` of a response. Clients compare it without regard to case. RFC 6749 §7.1.
public enum TokenType: String, Sendable, CaseIterable {
    /// RFC 6750.
    case bearer = "Bearer"
    /// RFC 9449 §5.
    case dpop = "DPoP"
    /// The issued token is not an access token. RFC 8693 §2.2.1.
    case notApplicable = "N_A"
}

/// Token type identifiers of RFC 8693 §3 and Native SSO.
public enum TokenTypeURI: String, Sendable, CaseIterable {
    case accessToken = "urn:ietf:params:oauth:token-type:access_token"
    case refreshToken = "urn:ietf:params:oauth:token-type:refresh_token"
    case idToken = "urn:ietf:params:oauth:token-type:id_token"
    case saml1 = "urn:ietf:params:oauth:token-type:saml1"
    case saml2 = "urn:ietf:params:oauth:token-type:saml2"
    case jwt = "urn:ietf:params:oauth:token-type:jwt"
    /// An error in the examples of the 2018 slides and of drafts 02 to 07; their text says `id_token`.
    case idTokenHyphenated = "urn:ietf:params:oauth:token-type:id-token"
    /// The 2018 profile.
    case deviceID = "urn:x-oath:params:oauth:token-type:device-id"
    /// Drafts 02 to 06.
    case deviceSecretTransitional = "urn:x-oath:params:oauth:token-type:device-secret"
    /// Draft 07.
    case deviceSecret = "urn:openid:params:token-type:device-secret"
    /// A code that hands a login to a web app, an extension of this broker.
    case webHandoff = "urn:x-native-sso:params:token-type:web-handoff"
}

/// `client_assertion_type`.
public enum ClientAssertionType: String, Sendable, CaseIterable {
    /// RFC 7523 §2.2.
    case jwtBearer = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
}

/// `error` of a token-endpoint response.
public enum OAuthErrorCode: String, Sendable, CaseIterable {
    // RFC 6749 §5.2
    case invalidRequest = "invalid_request"
    case invalidClient = "invalid_client"
    case invalidGrant = "invalid_grant"
    case unauthorizedClient = "unauthorized_client"
    case unsupportedGrantType = "unsupported_grant_type"
    case invalidScope = "invalid_scope"
    /// RFC 8693 §2.2.2.
    case invalidTarget = "invalid_target"
    /// OpenID Connect Core §3.1.2.6, Native SSO §4.4.
    case interactionRequired = "interaction_required"
    /// RFC 7009 §2.2.1.
    case unsupportedTokenType = "unsupported_token_type"
    // RFC 9449 §5 and §8
    case invalidDPoPProof = "invalid_dpop_proof"
    case useDPoPNonce = "use_dpop_nonce"
    /// RFC 6750 §3.1.
    case invalidToken = "invalid_token"
    // RFC 6749 §4.1.2.1; §5.2 has no code for server errors.
    case temporarilyUnavailable = "temporarily_unavailable"
    case serverError = "server_error"
}

/// The value of `scope`: tokens separated by single spaces, duplicates collapsed. RFC 6749 §3.3.
public struct ScopeTokens: Sendable, Hashable {
    /// In the order of first appearance; never empty.
    public let tokens: [String]

    /// In octets, for the whole value.
    public static let maximumLength = 4096
    /// More than any client registers; bounds the quadratic comparison.
    public static let maximumCount = 64

    /// `nil` for a leading, trailing or double space, a character outside %x21 / %x23-5B / %x5D-7E, or a value over a
    /// limit.
    public init?(_ text: String) {
        guard text.utf8.count <= Self.maximumLength,
            text.isPrintableASCII(except: UInt8(ascii: "\""), UInt8(ascii: "\\"))
        else { return nil }
        let parts = text.utf8.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
        guard parts.count <= Self.maximumCount, parts.allSatisfy({ !$0.isEmpty }) else { return nil }
        var tokens: [String] = []
        for part in parts {
            let token = String(Substring(part))
            if !tokens.contains(token) { tokens.append(token) }  // ASCII: `==` compares octets
        }
        self.tokens = tokens
    }
}

extension CaseIterable where Self: RawRepresentable, RawValue == String {
    /// The case with exactly this raw value.
    ///
    /// `init(rawValue:)` uses Unicode equivalence: it takes a KELVIN SIGN for a `K`.
    package init?(octets text: String) {
        guard let match = Self(rawValue: text), match.rawValue.hasSameOctets(as: text) else { return nil }
        self = match
    }
}
