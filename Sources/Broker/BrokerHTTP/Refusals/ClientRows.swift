// swift-format-ignore-file
// Rows of the table of refusals: see RefusalRow.swift.

package import JOSE
import NativeSSO
import OAuthWire

// MARK: The client. RFC 6749 §5.2: the status is 401 exactly if the client used the Authorization header

extension ClientRefusal: RefusalCase {
    package var row: RefusalRow { RefusalRow(words, .invalidClient) }

    private var words: RefusalRow.Words {
        switch self {
        case .missing: ("client_missing", "the request names no client", "Send client_id.")
        case .unknown: ("client_unknown", "no client of this name is registered",
            "Check client_id; the operator registers: native-sso client add.")
        case .disabled: ("client_disabled", "the client is disabled",
            "The operator can enable it again: native-sso client enable.")
        case .methodMismatch: ("client_method_mismatch", "the client authenticates by another method than the registered one",
            "Use the registered method (native-sso client show): it cannot be changed. A client without one sends client_id alone.")
        case .authenticationFailed: ("client_authentication_failed", "the client's secret is wrong or retired",
            "Use the present secret; the operator makes a new one: native-sso client secret rotate.")
        case .malformedBasic: ("client_basic_malformed",
            "the Authorization header does not hold a client's Basic credentials",
            "Form-encode client_id and secret before base64 (RFC 6749 §2.3.1).")
        case .unknownScheme: ("client_scheme_unknown", "the Authorization header has another scheme than Basic", "Use Basic.")
        case .postedSecret: ("client_secret_post", "the secret is in the body",
            "Send it in the Authorization header, as client_secret_basic.")

        // RFC 7523 §3.
        case .assertionIncomplete: ("client_assertion_incomplete", "client_assertion or its type is missing or unknown",
            "Send both, with the type urn:ietf:params:oauth:client-assertion-type:jwt-bearer.")
        case .assertionMalformed: ("client_assertion_malformed",
            "the client assertion is not a compact JWS, or its JSON is malformed", "Make it with a JWT library.")
        case .assertionHeader: ("client_assertion_header_refused",
            "the header of the client assertion has a member that the broker does not understand", "Send alg, typ and kid.")
        case .assertionWrongType: ("client_assertion_wrong_typ", "typ of the client assertion is wrong",
            "Send JWT, or client-authentication+jwt.")
        case .assertionAlgorithm: ("client_assertion_alg_not_allowed", "alg of the client assertion is not that of the key",
            "Sign as the registered key's alg says.")
        case .assertionUnknownKey: ("client_assertion_unknown_key", "the client has no key of this kid",
            "Register its public part and wait some seconds: native-sso client key add.")
        case .assertionSignature: ("client_assertion_bad_signature",
            "the signature of the client assertion does not fit the registered key",
            "Compare the keys: native-sso client key list shows the registered ones.")
        case .assertionIssuer: ("client_assertion_iss", "iss of the client assertion is not the client",
            "Send client_id as iss.")
        case .assertionSubject: ("client_assertion_sub", "sub of the client assertion is not the client",
            "Send client_id as sub.")
        case .assertionAudience: ("client_assertion_aud", "aud of the client assertion is not this broker alone",
            "Send the broker's issuer alone, or the token endpoint if the client's registration allows that.")
        case .assertionExpiry: ("client_assertion_exp",
            "exp of the client assertion is missing, past, or further after iat or now than the client's registration allows",
            "Make an assertion for each request, and set the clock. Its longest life is 5 minutes, or the client's assertion_lifetime.")
        case .assertionNotBefore: ("client_assertion_nbf", "nbf of the client assertion is malformed or ahead",
            "Set the clock, or leave nbf out.")
        case .assertionIssuedAt: ("client_assertion_iat", "iat of the client assertion is malformed or ahead",
            "Set the clock, and make one for each request.")
        case .assertionID: ("client_assertion_jti", "the client assertion has no jti, or a malformed one",
            "Send a random one.")
        case .assertionReplayed: ("client_assertion_replayed",
            "the client assertion was used before, at this broker or another",
            "Make a new one for each request, also for a retry. If the client did not send it twice, an attacker has a copy.")
        }
    }
}

// MARK: The DPoP proof. RFC 9449 §5, §5.2, §8: one answer for every defect

extension DPoPDefect: RefusalCase {
    package var row: RefusalRow { RefusalRow(words, .invalidProof) }

    private var words: RefusalRow.Words {
        switch self {
        case .repeated: ("dpop_header_repeated", "there are several DPoP proofs", "Send one.")
        case .malformed: ("dpop_malformed", "the DPoP proof is not a compact JWS", "Make it with a library for RFC 9449.")
        case .header: ("dpop_header_refused", "the header of the DPoP proof has a member that the broker does not understand",
            "Send typ, alg and jwk.")
        case .wrongType: ("dpop_wrong_typ", "typ of the DPoP proof is wrong", "Send dpop+jwt.")
        case .algorithm: ("dpop_alg_not_allowed", "alg of the DPoP proof is not allowed for proofs", "Sign with ES256.")
        case .key: ("dpop_jwk", "the DPoP proof has no usable public key in jwk", "Send the public key as a JWK.")
        case .privateKey: ("dpop_jwk_private", "jwk of the DPoP proof holds a private key",
            "Make a new key, since this one was sent, and send the public part alone.")
        case .weakKey: ("dpop_jwk_weak", "the key of the DPoP proof is too weak", "Use a P-256 key.")
        case .signature: ("dpop_bad_signature", "the signature of the DPoP proof does not fit its key",
            "Sign with the key of jwk.")
        case .method: ("dpop_htm", "htm of the DPoP proof is not POST", "Send POST.")
        case .target: ("dpop_htu", "htu of the DPoP proof is not this token endpoint",
            "Send its URL as apps know it; the operator sets it as dpop.token_endpoint.")
        case .issuedAt: ("dpop_iat", "iat of the DPoP proof is missing, too old or ahead",
            "Make a proof for each request, and set the clock.")
        case .tokenID: ("dpop_jti", "jti of the DPoP proof is missing or malformed", "Send a random one.")
        case .nonce: ("dpop_nonce_malformed", "nonce of the DPoP proof is not a string",
            "Send the text of the DPoP-Nonce header.")
        case .accessToken: ("dpop_ath", "ath of the DPoP proof is not that of the access token", "Leave it out here.")
        }
    }
}

extension NonceDefect: RefusalCase {
    package var row: RefusalRow { RefusalRow(words, .useNonce) }

    private var words: RefusalRow.Words {
        switch self {
        case .missing: ("dpop_nonce_missing", "the DPoP proof has no nonce",
            "Try again with the DPoP-Nonce of the answer (RFC 9449 §8).")
        case .unknown: ("dpop_nonce_unknown", "no broker of this installation issued the nonce of the DPoP proof",
            "Try again with the DPoP-Nonce of the answer.")
        case .stale: ("dpop_nonce_stale", "the nonce of the DPoP proof is too old",
            "Try again with the DPoP-Nonce of the answer.")
        }
    }
}
