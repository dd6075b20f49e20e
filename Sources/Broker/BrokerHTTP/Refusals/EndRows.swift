// swift-format-ignore-file
// Rows of the table of refusals: see RefusalRow.swift.

package import NativeSSO
import OAuthWire

// MARK: Revocation. RFC 7009 §2.1, §2.2.1

extension RevocationRefusal: RefusalCase {
    package var row: RefusalRow {
        switch self {
        case .unsupportedTokenType: .init("revocation_unsupported_token_type",
            .badRequest(.unsupportedTokenType, "Only refresh tokens and device secrets can be revoked."),
            "the token to be revoked is a JWT, such as an access token or an id_token",
            "Revoke the refresh token or the device_secret. An access token ends by itself within minutes.")
        case .foreignClient: .init("revocation_foreign_client",
            "the refresh token to be revoked belongs to another client", "An app revokes its own tokens.")
        }
    }
}

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

// MARK: Security events and global token revocation. RFC 8935 §2.4, draft-parecki-oauth-global-token-revocation

extension EventRefusal: RefusalCase {
    package var row: RefusalRow {
        switch self {
        case .missing: .init("event_token_missing", .invalidEventToken, "there is no token",
            "A security event token is the body. The JWT of a revocation is the bearer token of the Authorization header.")
        case .malformed: .init("event_token_malformed", .invalidEventToken,
            "the token is not a compact JWS, or its JSON is malformed", "Ask the sender.")
        case .headerRefused: .init("event_token_header_refused", .invalidEventToken,
            "the header of the token has a member that the broker does not understand", "Ask the sender.")
        case .wrongType: .init("event_token_wrong_typ", .invalidEventToken,
            "typ of the token is not the one of this endpoint",
            "It is secevent+jwt for a security event, and global-token-revocation+jwt for a revocation.")
        case .algorithmNotAllowed: .init("event_token_alg_not_allowed", .invalidEventToken,
            "the token is signed by an algorithm that is not configured",
            "The operator adds the algorithm to algorithms of the identity provider.")
        case .unknownKey: .init("event_token_unknown_key", .invalidEventToken, "no key of the signer fits the token",
            "The operator checks jwks_uri of security_events or of global_token_revocation.")
        case .keyRetired: .init("event_token_key_retired", .invalidEventToken,
            "the signer removed the key of the token from its key set", "The signer uses a published key.")
        case .keyRevoked: .init("event_token_key_revoked", .invalidEventToken, "the key of the token was revoked",
            "The signer uses another key.")
        case .badSignature: .init("event_token_bad_signature", .invalidEventToken, "the signature of the token is wrong",
            "Check what is between the sender and the broker.")
        case .issuer: .init("event_token_iss", .invalidEventToken, "iss of the token names no configured signer",
            "The operator compares it with issuer of security_events or of global_token_revocation.")
        case .audience: .init("event_token_aud", .invalidEventToken, "aud of the token does not name this broker",
            "For a revocation it is the URL of the endpoint. For an event the operator sets security_events.audiences.")
        case .issuedAt: .init("event_token_iat", .invalidEventToken,
            "iat of the token is missing, ahead or too old: 10 minutes for a revocation, 24 hours for an event",
            "Compare the clocks.")
        case .expiry: .init("event_token_exp", .invalidEventToken,
            "a security event has exp, or exp of a revocation is missing, past, not after iat or more than 10 minutes after it",
            "Compare the clocks. A security event token has no exp.")
        case .notBefore: .init("event_token_nbf", .invalidEventToken, "nbf of the token is malformed or ahead",
            "Compare the clocks.")
        case .tokenID: .init("event_token_jti", .invalidEventToken, "jti of the token is missing or malformed",
            "Ask the sender.")
        case .replayed: .init("event_token_replayed", .invalidEventToken,
            "the JWT of the revocation was used before", "The sender makes a JWT for each request.")
        case .events: .init("event_events", .invalidEventSubject, "the token does not hold exactly one event",
            "Ask the transmitter: a token has one event.")
        case .eventTime: .init("event_timestamp", .invalidEventSubject, "event_timestamp is malformed or ahead",
            "Ask the transmitter: it is in seconds.")
        case .bodyMalformed: .init("event_body_malformed", .invalidEventSubject,
            "the body of the revocation is not a JSON object", "Ask the sender.")
        case .subjectMissing: .init("event_subject_missing", .invalidEventSubject,
            "the subject identifier is missing or malformed", "Ask the sender: it stands in sub_id.")
        case .subjectFormat: .init("event_subject_format", .invalidEventSubject,
            "the subject identifier has a format by which the broker cannot find the user or session",
            "The sender is set to the format iss_sub. For a session it may be opaque or complex.")
        case .subjectForeign: .init("event_subject_foreign", .invalidEventSubject,
            "the subject belongs to another issuer than the sender may speak for",
            "iss of the subject is the identity provider, or the signer of the token.")
        }
    }
}
