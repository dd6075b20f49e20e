/// Why a logout token is refused: Back-Channel Logout 1.0 §2.6. The raw value is what the audit shows.
public enum LogoutRefusal: String, Error, Sendable, CaseIterable {
    case missing = "logout_token_missing"
    case malformed = "logout_token_malformed"
    case headerRefused = "logout_token_header_refused"
    case wrongType = "logout_token_wrong_typ"
    case algorithmNotAllowed = "logout_token_alg_not_allowed"
    case unknownKey = "logout_token_unknown_key"
    /// It left the key set: good for an old id_token, not for something that is said now.
    case keyRetired = "logout_token_key_retired"
    case keyRevoked = "logout_token_key_revoked"
    case badSignature = "logout_token_bad_signature"
    /// Missing, or no identity provider that is configured.
    case issuer = "logout_token_iss"
    case audience = "logout_token_aud"
    case issuedAt = "logout_token_iat"
    case expiry = "logout_token_exp"
    case notBefore = "logout_token_nbf"
    case tokenID = "logout_token_jti"
    case events = "logout_token_events"
    /// An id_token has one, a logout token must not.
    case nonce = "logout_token_nonce"
    case subject = "logout_token_sub"
    case sessionID = "logout_token_sid"
    /// Neither `sub` nor `sid`.
    case nobody = "logout_token_names_nobody"
    /// It was used before: what it asks for is done.
    case replayed = "logout_token_replayed"

    /// Whether a key was looked for and nobody's signature found: the dearest of what anybody can send.
    public var isOfNobody: Bool { self == .unknownKey || self == .badSignature }
}

public typealias LogoutError = GrantError<LogoutRefusal>
