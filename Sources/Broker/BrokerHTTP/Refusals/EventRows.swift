// swift-format-ignore-file
// Rows of the table of refusals: see RefusalRow.swift.

package import NativeSSO
import OAuthWire

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
