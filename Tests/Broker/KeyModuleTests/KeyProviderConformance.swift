import JOSE
import KeyModule
import NativeSSO
import StrictCoding
import Testing

/// The rules for every key provider. The suite of each provider calls all of them.
enum KeyProviderConformance {
    static func signsWhatItsPublicKeyVerifies(_ provider: any KeyProvider, _ algorithm: KeyAlgorithm) async throws {
        let generated = try await provider.generateSigningKey(algorithm, modulusBits: 2048)
        let key = try await provider.signingKey(.of(generated, .accessToken))
        let name = try #require(SignatureAlgorithm(name: algorithm.rawValue))
        for length in [0, 1, 55, 64, 1000, 100_000] {
            let message = (0..<length).map { UInt8(truncatingIfNeeded: $0) }
            let signature = try await key.signature(over: message)
            #expect(signature.count == [.es256: 64, .es384: 96, .edDSA: 64][algorithm, default: 256])
            #expect(key.publicKey.verifies(signature, of: message, algorithm: name))
            #expect(!key.publicKey.verifies(signature, of: message + [0], algorithm: name))
        }
    }

    /// A signature keeps the leading zeros of r and s. One signature in 128 has one.
    static func ecdsaSignaturesHaveFixedLength(_ provider: any KeyProvider) async throws {
        let key = try await provider.signingKey(
            .of(try await provider.generateSigningKey(.es256, modulusBits: 0), .accessToken))
        var leadingZeros = 0
        for index in 0..<2000 {
            let message = Array(String(index).utf8)
            let signature = try await key.signature(over: message)
            #expect(signature.count == 64)
            guard signature[0] == 0 || signature[32] == 0 else { continue }
            leadingZeros += 1
            #expect(key.publicKey.verifies(signature, of: message, algorithm: .es256))
        }
        #expect(leadingZeros > 0)  // fails by chance once in 6 million runs
    }

    static func namesKeysByThumbprint(_ provider: any KeyProvider, _ algorithm: KeyAlgorithm) async throws {
        let generated = try await provider.generateSigningKey(algorithm, modulusBits: 2048)
        let text = try #require(generated.publicJWK)
        let json = try #require(try JSONReader.parse(text.utf8).object)
        let published = try JSONWebKey(json)  // refuses private members
        #expect(Base64URL.encode(published.thumbprint) == generated.kid)
        #expect(published.keyID == generated.kid)
        #expect(json.string("alg") == algorithm.rawValue)
        #expect(json.string("use") == "sig")
        let loaded = try await provider.signingKey(.of(generated, .accessToken))
        #expect(loaded.publicKey == published)
        #expect(loaded.algorithm == algorithm)
    }

    static func findsAKeyAgain(_ make: () throws -> any KeyProvider) async throws {
        let first = try make()
        let records = try await first.completeSet()
        let again = await KeySet(records, from: try make())
        #expect(again.problems.isEmpty)
        #expect(again.missing.isEmpty)
        let firstSet = await KeySet(records, from: first)
        #expect(again.jwks == firstSet.jwks)
    }

    static func refusesAnotherKeyThanTheOneMeant(_ provider: any KeyProvider) async throws {
        let mine = KeyRecord.of(try await provider.generateSigningKey(.es256, modulusBits: 0), .accessToken)
        let wrongKID = String(mine.kid.reversed())
        await #expect(throws: KeyError.self) { try await provider.signingKey(mine.changed(kid: wrongKID)) }
        await #expect(throws: KeyError.self) { try await provider.signingKey(mine.changed(algorithm: .rs256)) }

        let tag = KeyRecord.of(try await provider.generateRefreshTokenKey(id: 9), .refreshToken)
        await #expect(throws: KeyError.self) { try await provider.macKey(tag.changed(kid: wrongKID)) }
        _ = try await provider.macKey(tag)
    }

    static func neverOverwritesAKey(_ provider: any KeyProvider) async throws {
        let first = KeyRecord.of(try await provider.generateRefreshTokenKey(id: 3), .refreshToken)
        await #expect(throws: KeyError.self) { try await provider.generateRefreshTokenKey(id: 3) }
        _ = try await provider.macKey(first)
        let device = KeyRecord.of(try await provider.generateDeviceKey(), .device)
        await #expect(throws: KeyError.self) { try await provider.generateDeviceKey() }
        _ = try await provider.macKey(device)
    }

    static func destroysForGood(_ provider: any KeyProvider) async throws {
        let record = KeyRecord.of(try await provider.generateSigningKey(.es256, modulusBits: 0), .accessToken)
        try await provider.destroy(record)
        await #expect(throws: KeyError.self) { try await provider.signingKey(record) }
        try await provider.destroy(record)  // an operator can finish an interrupted removal
    }

    static func signsConcurrently(_ provider: any KeyProvider, _ algorithm: KeyAlgorithm) async throws {
        let key = try await provider.signingKey(
            .of(try await provider.generateSigningKey(algorithm, modulusBits: 2048), .accessToken))
        let name = try #require(SignatureAlgorithm(name: algorithm.rawValue))
        let verified = try await withThrowingTaskGroup(of: Bool.self) { group in
            for task in 0..<64 {
                group.addTask {
                    for turn in 0..<20 {
                        let message = Array("task \(task) turn \(turn)".utf8)
                        let signature = try await key.signature(over: message)
                        guard key.publicKey.verifies(signature, of: message, algorithm: name) else { return false }
                    }
                    return true
                }
            }
            return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(verified == 64)
    }
}
