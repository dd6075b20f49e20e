import NativeSSO

extension TokenSigner {
    /// The token, waited for.
    func sign(payload: [UInt8], type: JWTType, algorithm: KeyAlgorithm) async throws(PortError) -> String {
        try await beginSigning(payload, type: type, algorithm: algorithm).value
    }
}
