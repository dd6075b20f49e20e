import JOSE
import NativeSSO

extension SubjectTokenDefect {
    /// The audit's name for what is wrong with the form, the header or the signature of a token.
    init(_ error: JWSError) {
        switch error {
        case .tooLong, .notCompact, .encrypted, .emptySegment, .notBase64URL, .headerNotJSON, .headerNotObject,
            .payloadNotJSON, .payloadNotObject:
            self = .malformed
        case .malformedHeader, .criticalHeader, .unencodedPayload, .compressed: self = .headerRefused
        case .wrongType: self = .wrongType
        case .unsupportedAlgorithm, .algorithmNotAllowed, .keyDoesNotFitAlgorithm: self = .algorithmNotAllowed
        case .unknownKey, .ambiguousKey: self = .unknownKey
        case .badSignature: self = .badSignature
        }
    }
}
