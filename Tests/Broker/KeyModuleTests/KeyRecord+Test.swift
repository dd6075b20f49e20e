import KeyModule
import NativeSSO

extension KeyRecord {
    static func of(
        _ key: GeneratedKey, _ use: KeyUse, _ state: KeyState = .active, publishedAt: UnixTime? = nil,
        activatedAt: UnixTime? = nil, retiredAt: UnixTime? = nil, replica: String? = nil
    ) -> KeyRecord {
        KeyRecord(
            kid: key.kid, use: use, algorithm: key.algorithm, reference: key.reference, publicJWK: key.publicJWK,
            state: state, createdAt: UnixTime(seconds: 1_700_000_000), publishedAt: publishedAt,
            activatedAt: activatedAt, retiredAt: retiredAt, replica: replica)
    }

    /// The same record with another `kid` or reference.
    func changed(kid: String? = nil, algorithm: KeyAlgorithm? = nil, reference: String? = nil) -> KeyRecord {
        KeyRecord(
            kid: kid ?? self.kid, use: use, algorithm: algorithm ?? self.algorithm,
            reference: reference ?? self.reference, publicJWK: publicJWK, state: state, createdAt: createdAt)
    }

    var suspended: KeyRecord {
        KeyRecord(
            kid: kid, use: use, algorithm: algorithm, reference: reference, publicJWK: publicJWK, state: state,
            createdAt: createdAt, publishedAt: publishedAt, activatedAt: activatedAt, retiredAt: retiredAt,
            suspendedAt: createdAt)
    }
}

extension KeyProvider {
    /// A new key that signs.
    func newSigningKey(_ algorithm: KeyAlgorithm = .es256) async throws -> any SigningKey {
        try await signingKey(.of(try await generateSigningKey(algorithm, modulusBits: 2048), .accessToken))
    }

    /// An active key for each use.
    func completeSet(_ algorithm: KeyAlgorithm = .es256) async throws -> [KeyRecord] {
        [
            .of(try await generateSigningKey(algorithm, modulusBits: 2048), .accessToken),
            .of(try await generateRefreshTokenKey(id: 1), .refreshToken),
            .of(try await generateDeviceKey(), .device),
        ]
    }
}
