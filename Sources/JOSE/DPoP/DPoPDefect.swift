/// What is wrong with a DPoP proof: RFC 9449 §4.3, in the order in which it is looked at. The raw value is what a log or an
/// audit shows.
public enum DPoPDefect: String, Error, Sendable, CaseIterable {
    /// More than one `DPoP` field, or several values in one.
    case repeated = "dpop_header_repeated"
    /// No compact JWS, or its JSON is none.
    case malformed = "dpop_malformed"
    /// An extension of JWS that we do not know, or a header member of the wrong type.
    case header = "dpop_header_refused"
    case wrongType = "dpop_wrong_typ"
    /// `none`, a MAC, or a signature that is not for proofs.
    case algorithm = "dpop_alg_not_allowed"
    /// There is none, or it is no JSON Web Key of a kind that signs.
    case key = "dpop_jwk"
    /// The key in the header is a secret one, or was: it has private members.
    case privateKey = "dpop_jwk_private"
    case weakKey = "dpop_jwk_weak"
    case signature = "dpop_bad_signature"
    case method = "dpop_htm"
    case target = "dpop_htu"
    /// Missing, too old, or too far ahead.
    case issuedAt = "dpop_iat"
    case tokenID = "dpop_jti"
    /// `nonce` is there, and no text.
    case nonce = "dpop_nonce_malformed"
    /// `ath` is not the hash of the access token that came with the proof.
    case accessToken = "dpop_ath"
}

extension DPoPDefect {
    init(_ error: JWSError) {
        switch error {
        case .tooLong, .notCompact, .encrypted, .emptySegment, .notBase64URL, .headerNotJSON, .headerNotObject,
            .payloadNotJSON, .payloadNotObject:
            self = .malformed
        case .malformedHeader, .criticalHeader, .unencodedPayload, .compressed: self = .header
        case .wrongType: self = .wrongType
        case .unsupportedAlgorithm, .algorithmNotAllowed, .keyDoesNotFitAlgorithm: self = .algorithm
        case .unknownKey, .ambiguousKey: self = .key
        case .badSignature: self = .signature
        }
    }

    init(_ error: JSONWebKeyError) {
        switch error {
        case .privateKey: self = .privateKey
        case .weakKey: self = .weakKey
        case .notObject, .unsupportedKeyType, .unsupportedAlgorithm, .algorithmDoesNotFitKey, .notForVerification,
            .malformedMember, .invalidPoint:
            self = .key
        }
    }
}
