// swift-format-ignore-file
// Rows of the table of refusals: see RefusalRow.swift.

package import NativeSSO
import OAuthWire

// MARK: Logout. OpenID Connect Back-Channel Logout 1.0 §2.6, §2.8

extension LogoutRefusal: RefusalCase {
    package var row: RefusalRow {
        switch self {
        case .missing: .init("logout_token_missing", .invalidRequest("logout_token is required."), "logout_token is missing",
            "The identity provider posts it as a form.")
        case .malformed: .init("logout_token_malformed", .invalidLogoutToken,
            "the logout token is not a compact JWS, or its JSON is malformed", "Ask the identity provider.")
        case .headerRefused: .init("logout_token_header_refused", .invalidLogoutToken,
            "the header of the logout token has a member that the broker does not understand", "Ask the identity provider.")
        case .wrongType: .init("logout_token_wrong_typ", .invalidLogoutToken, "typ of the logout token is not logout+jwt",
            "The operator can allow JWT as well: logout.allow_typ_jwt.")
        case .algorithmNotAllowed: .init("logout_token_alg_not_allowed", .invalidLogoutToken,
            "the logout token is signed by an algorithm that is not configured",
            "The operator adds the identity provider's algorithm to algorithms.")
        case .unknownKey: .init("logout_token_unknown_key", .invalidLogoutToken,
            "no key of the identity provider fits the logout token", "The operator checks jwks_uri.")
        case .keyRetired: .init("logout_token_key_retired", .invalidLogoutToken,
            "the identity provider removed the key of the logout token from its key set",
            "The identity provider signs with a published key.")
        case .keyRevoked: .init("logout_token_key_revoked", .invalidLogoutToken, "the key of the logout token was revoked",
            "The identity provider signs with another key.")
        case .badSignature: .init("logout_token_bad_signature", .invalidLogoutToken, "the signature of the logout token is wrong",
            "Check what is between the identity provider and the broker.")
        case .issuer: .init("logout_token_iss", .invalidLogoutToken,
            "iss of the logout token names no identity provider of this broker",
            "The operator compares it with identity_providers.")
        case .audience: .init("logout_token_aud", .invalidLogoutToken,
            "aud of the logout token names a client that is neither registered here nor in logout.audiences",
            "The operator adds it to logout.audiences.")
        case .issuedAt: .init("logout_token_iat", .invalidLogoutToken,
            "iat of the logout token is missing, more than 5 minutes old or ahead", "Compare the clocks.")
        case .expiry: .init("logout_token_exp", .invalidLogoutToken,
            "exp of the logout token is missing, past, not after iat or more than 5 minutes after it",
            "Compare the clocks; logout.allow_missing_exp allows it to be missing.")
        case .notBefore: .init("logout_token_nbf", .invalidLogoutToken, "nbf of the logout token is malformed or ahead",
            "Compare the clocks.")
        case .tokenID: .init("logout_token_jti", .invalidLogoutToken, "jti of the logout token is missing or malformed",
            "Ask the identity provider.")
        case .events: .init("logout_token_events", .invalidLogoutToken,
            "events of the logout token lacks the back-channel logout", "Ask the identity provider.")
        case .nonce: .init("logout_token_nonce", .invalidLogoutToken, "the logout token has a nonce",
            "Ask the identity provider: a logout token must not have one, so this may be an id_token.")
        case .subject: .init("logout_token_sub", .invalidLogoutToken, "sub of the logout token is malformed",
            "Ask the identity provider.")
        case .sessionID: .init("logout_token_sid", .invalidLogoutToken, "sid of the logout token is malformed",
            "Ask the identity provider.")
        case .subjectMissing: .init("logout_token_sub_sid_missing", .invalidLogoutToken,
            "the logout token has neither sub nor sid", "Ask the identity provider.")
        }
    }
}
