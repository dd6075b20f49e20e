import JOSE

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
