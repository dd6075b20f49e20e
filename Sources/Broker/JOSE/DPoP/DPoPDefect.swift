/// What is wrong with a DPoP proof: RFC 9449 §4.3, in the order in which it is looked at.
public enum DPoPDefect: Error, Sendable, CaseIterable {
    /// More than one `DPoP` field, or several values in one.
    case repeated
    /// No compact JWS, or its JSON is none.
    case malformed
    /// An extension of JWS that we do not know, or a header member of the wrong type.
    case header
    case wrongType
    /// `none`, a MAC, or a signature that is not for proofs.
    case algorithm
    /// There is none, or it is no JSON Web Key of a kind that signs.
    case key
    /// The key in the header is a secret one, or was: it has private members.
    case privateKey
    case weakKey
    case signature
    case method
    case target
    /// Missing, too old, or too far ahead.
    case issuedAt
    case tokenID
    /// `nonce` is there, and no text.
    case nonce
    /// `ath` is not the hash of the access token that came with the proof.
    case accessToken
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
