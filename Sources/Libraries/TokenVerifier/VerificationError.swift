import JOSE

/// Why an access token was refused.
///
/// A struct with codes: a new code does not break your `switch`. It contains nothing of the token except a claim's
/// name, so you can log it.
public struct VerificationError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of failure, with a stable name for logs.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        public let description: String

        private init(_ description: String) { self.description = description }

        /// Not a compact JWS, or a header with dangerous parameters (RFC 7515 §7.1, RFC 8725 §3.6).
        public static let malformed = Code("malformed")
        /// `typ` is not `at+jwt`; for example an id_token (RFC 9068 §4).
        public static let wrongType = Code("wrong_type")
        /// `alg` is not in the configured set (RFC 8725 §3.1).
        public static let algorithmNotAllowed = Code("algorithm_not_allowed")
        /// The issuer's key set does not contain the key, or `kid` is ambiguous.
        public static let unknownKey = Code("unknown_key")
        /// The signature is invalid.
        public static let badSignature = Code("bad_signature")
        /// A required claim is missing or malformed; ``VerificationError/claim`` names it.
        public static let malformedClaim = Code("malformed_claim")
        /// `iss` is not the configured issuer.
        public static let wrongIssuer = Code("wrong_issuer")
        /// `aud` does not contain this resource server.
        public static let wrongAudience = Code("wrong_audience")
        /// `exp` has passed.
        public static let expired = Code("expired")
        /// `nbf` has not been reached.
        public static let notYetValid = Code("not_yet_valid")
        /// The token is bound to a key (`cnf`), and this call checks no proof (RFC 9449 §7.1).
        public static let senderConstrained = Code("sender_constrained")
        /// A proof came with a token that is not bound to a key.
        public static let notSenderConstrained = Code("not_sender_constrained")
        /// The DPoP proof is invalid, or is for another request, token or key (RFC 9449 §4.3).
        public static let invalidProof = Code("invalid_proof")
        /// The proof was used before (RFC 9449 §11.1).
        public static let usedProof = Code("used_proof")
        /// ``UsedProofs`` is full. An outage: answer 503, not 401.
        public static let tooManyProofs = Code("too_many_proofs")
        /// The token is valid, but lacks a required scope (RFC 6750 §3.1).
        public static let insufficientScope = Code("insufficient_scope")
        /// The issuer's keys could not be loaded. An outage: answer 503, not 401.
        public static let keysUnavailable = Code("keys_unavailable")
    }

    /// The kind of failure.
    public var code: Code
    /// The malformed claim, if one caused the failure.
    public var claim: String?

    /// An error with this code.
    public init(_ code: Code, claim: String? = nil) {
        self.code = code
        self.claim = claim
    }

    public var description: String { claim.map { "\(code) (\($0))" } ?? code.description }
}

extension VerificationError {
    init(_ error: JWSError) {
        let code: Code =
            switch error {
            case .tooLong, .notCompact, .encrypted, .emptySegment, .notBase64URL, .headerNotJSON, .headerNotObject,
                .payloadNotJSON, .payloadNotObject, .malformedHeader, .criticalHeader, .unencodedPayload, .compressed:
                .malformed
            case .wrongType: .wrongType
            case .unsupportedAlgorithm, .algorithmNotAllowed, .keyDoesNotFitAlgorithm: .algorithmNotAllowed
            case .unknownKey, .ambiguousKey: .unknownKey
            case .badSignature: .badSignature
            }
        self.init(code)
    }
}
