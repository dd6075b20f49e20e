import JOSE

/// Why an access token was not accepted.
///
/// A struct with codes, so that a later version can tell apart more without breaking anybody's `switch`. Holds nothing of the
/// token beyond the name of a claim: it can be logged.
public struct VerificationError: Error, Sendable, Hashable, CustomStringConvertible {
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        public let description: String

        private init(_ description: String) { self.description = description }

        /// No compact JWS, or a header that no verifier should accept.
        public static let malformed = Code("malformed")
        /// `typ` is not `at+jwt`: an id_token, for instance (RFC 9068 §4).
        public static let wrongType = Code("wrong_type")
        public static let algorithmNotAllowed = Code("algorithm_not_allowed")
        /// The issuer's key set does not have the key.
        public static let unknownKey = Code("unknown_key")
        public static let badSignature = Code("bad_signature")
        /// A required claim is missing or has the wrong form; ``claim`` says which.
        public static let malformedClaim = Code("malformed_claim")
        public static let wrongIssuer = Code("wrong_issuer")
        public static let wrongAudience = Code("wrong_audience")
        public static let expired = Code("expired")
        public static let notYetValid = Code("not_yet_valid")
        /// The token is bound to a key of the client (`cnf`), and nobody here checks that the caller holds it.
        public static let senderConstrained = Code("sender_constrained")
        /// A proof came with the token, which is bound to no key.
        public static let notSenderConstrained = Code("not_sender_constrained")
        /// The DPoP proof does not hold, is of another request or token, or by another key than the token's.
        public static let invalidProof = Code("invalid_proof")
        /// The token is good and its scope is too small.
        public static let insufficientScope = Code("insufficient_scope")
        /// Nothing can be said of any token: the issuer's keys could not be loaded. An outage, not the caller's doing.
        public static let keysUnavailable = Code("keys_unavailable")
    }

    public var code: Code
    /// The claim at fault, where one is.
    public var claim: String?

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
