import Foundation
import JOSE
import KeyModule
import NativeSSO
import StrictCoding
import Testing

/// The rules for every key provider. The suite of each provider calls ``check(_:_:)``.
enum KeyProviderConformance {
    /// - Parameter make: Makes a provider of the same keys each time.
    static func check(_ algorithms: [KeyAlgorithm], _ make: () throws -> any KeyProvider) async throws {
        for algorithm in algorithms {
            try await signsByTheKeyThatItNames(try make(), algorithm)
            try await signsConcurrently(try make(), algorithm)
        }
        try await ecdsaSignaturesHaveFixedLength(try make())
        try await findsAKeyAgain(make)
        try await refusesAnotherKeyThanTheOneMeant(try make())
        try await tagsConcurrently(try make())
        try await refusesTheWrongKind(try make())
        try await destroysForGood(try make())
    }

    static let issuer = Issuer(validated: "https://sso.example.com")

    /// What a broker has signed: the signer signs nothing else.
    static func signingInput(_ key: any SigningKey, _ text: String) -> [UInt8] {
        let kid = Base64URL.encode(key.publicKey.thumbprint)
        let header = #"{"alg":"\#(key.algorithm.rawValue)","typ":"at+jwt","kid":"\#(kid)"}"#
        return Array("\(Base64URL.encode(Array(header.utf8))).\(Base64URL.encode(claims(text)))".utf8)
    }

    private static func claims(_ text: String) -> [UInt8] {
        let expiry = TestClock().now.adding(300).seconds
        return Array(#"{"iss":"\#(issuer.string)","exp":\#(expiry),"text":"\#(text)"}"#.utf8)
    }

    /// Where a provider does its work.
    enum Place { case here, there }

    /// The provider goes away under a broker and comes back. What needs it is refused before anything is written, what does not
    /// goes on, a reload in between takes no key away, and nothing must be restarted.
    static func comesBack(
        _ provider: any KeyProvider, working place: Place, leave: () async throws -> Void,
        back: () async throws -> Void
    ) async throws {
        let records = try await provider.completeSet()
        let ring = KeyRing()
        #expect(ring.adopt(await KeySet(records, from: provider)))
        let jwks = try #require(ring.current).jwks
        let message = Array("nsr1.".utf8)
        let tag = try await ring.tag(message, keyID: 1)
        func sign() async -> PortError? {
            do throws(PortError) {
                _ = try await ring.sign(payload: claims("x"), type: .accessToken, algorithm: .es256)
                return nil
            } catch { return error }
        }

        try await leave()
        let away = await KeySet(records, from: provider)
        #expect(!away.problems.isEmpty)
        for problem in away.problems { #expect(problem.explanation.contains(" "), "\(problem)") }
        #expect(!ring.adopt(away))
        #expect(try #require(ring.current).jwks == jwks)
        switch place {
        case .here:
            #expect(await sign() == nil)
            #expect(try await ring.tag(message, keyID: 1) == tag)
        case .there:
            var calls = 0
            while (try? ring.algorithm(nil)) != nil, calls < 50 {
                _ = await sign()
                calls += 1
            }
            #expect(throws: PortError.self) { try ring.algorithm(nil) }
            let refused = await sign()
            #expect(refused != nil)
        }

        try await back()
        // It looks every 4 s at most. A busy machine may take longer; a provider that stays away takes for ever.
        let end = ContinuousClock.now + .seconds(60)
        while ContinuousClock.now < end {
            if (try? ring.algorithm(nil)) != nil, await sign() == nil { break }
            try await Task.sleep(for: .milliseconds(20))
        }
        #expect(try ring.algorithm(nil) == .es256)
        #expect(try await ring.tag(message, keyID: 1) == tag)
        let again = await KeySet(records, from: provider)
        #expect(again.problems.isEmpty)
        #expect(ring.adopt(again))
    }

    /// Signatures that wait do not mix, and tags that need not wait do not.
    static func waitsForASlowProvider(
        _ provider: any KeyProvider, slow: () async throws -> Void, fast: () async throws -> Void
    ) async throws {
        let records = try await provider.completeSet()
        let (key, mac) = (try await provider.signingKey(records[0]), try await provider.macKey(records[1]))
        let message = Array("nsr1.".utf8)
        let tag = try await mac.tag(message)
        try await slow()
        let verified = try await withThrowingTaskGroup(of: Bool.self) { group in
            for task in 0..<16 {
                group.addTask {
                    let message = signingInput(key, "slow \(task)")
                    let signature = try await key.signature(over: message)
                    return key.publicKey.verifies(signature, of: message, algorithm: .es256)
                }
                group.addTask { try await mac.tag(message) == tag }
            }
            return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(verified == 32)
        #expect(key.failure == nil)
        try await fast()
    }

    /// Tags are 32 octets, the same each time, and those of another key are others. Many at once do not mix.
    static func tagsConcurrently(_ provider: any KeyProvider) async throws {
        let keys = [
            try await provider.macKey(.of(try await provider.generateRefreshTokenKey(id: 7), .refreshToken)),
            try await provider.macKey(.of(try await provider.generateRefreshTokenKey(id: 8), .refreshToken)),
        ]
        func message(_ task: Int) -> [UInt8] { Array("nsr1.task \(task)".utf8) }
        var expected: [[[UInt8]]] = []
        for task in 0..<32 {
            expected.append([try await keys[0].tag(message(task)), try await keys[1].tag(message(task))])
        }
        #expect(Set(expected.joined()).count == 64)
        #expect(expected.joined().allSatisfy { $0.count == 32 })
        let equal = try await withThrowingTaskGroup(of: Bool.self) { group in
            for task in 0..<32 {
                group.addTask { [expected] in
                    for _ in 0..<20 {
                        for key in 0..<2 {
                            guard try await keys[key].tag(message(task)) == expected[task][key] else { return false }
                        }
                    }
                    return true
                }
            }
            return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(equal == 32)
    }

    /// A key of one use does not serve another.
    static func refusesTheWrongKind(_ provider: any KeyProvider) async throws {
        let signing = KeyRecord.of(try await provider.generateSigningKey(.es256, modulusBits: 0), .accessToken)
        let tag = KeyRecord.of(try await provider.generateRefreshTokenKey(id: 5), .refreshToken)
        await #expect(throws: KeyError.self) { try await provider.macKey(signing) }
        await #expect(throws: KeyError.self) { try await provider.signingKey(tag) }
        let disguised = KeyRecord(
            kid: signing.kid, use: .refreshToken, algorithm: .hs256, reference: signing.reference, publicJWK: nil,
            state: .active, createdAt: signing.createdAt)
        await #expect(throws: KeyError.self) { try await provider.macKey(disguised) }
        let other = KeyRecord(
            kid: tag.kid, use: .accessToken, algorithm: .es256, reference: tag.reference, publicJWK: nil,
            state: .active, createdAt: tag.createdAt)
        await #expect(throws: KeyError.self) { try await provider.signingKey(other) }
    }

    /// The key's name is its thumbprint, and its published half verifies.
    static func signsByTheKeyThatItNames(_ provider: any KeyProvider, _ algorithm: KeyAlgorithm) async throws {
        let generated = try await provider.generateSigningKey(algorithm, modulusBits: 2048)
        let publicJWK = try #require(generated.publicJWK)
        let json = try #require(try JSONReader.parse(publicJWK.utf8).object)
        let published = try JSONWebKey(json)  // refuses private members
        #expect(Base64URL.encode(published.thumbprint) == generated.kid)
        #expect(published.keyID == generated.kid)
        #expect(json.string("alg") == algorithm.rawValue)
        #expect(json.string("use") == "sig")
        let key = try await provider.signingKey(.of(generated, .accessToken))
        #expect(key.publicKey == published && key.algorithm == algorithm)
        let name = try #require(SignatureAlgorithm(name: algorithm.rawValue))
        for length in [0, 1, 55, 64, 1000, 11_000] {
            let message = signingInput(key, String(repeating: "x", count: length))
            let signature = try await key.signature(over: message)
            #expect(signature.count == [.es256: 64, .es384: 96, .edDSA: 64][algorithm, default: 256])
            #expect(published.verifies(signature, of: message, algorithm: name))
            #expect(!published.verifies(signature, of: message + [0], algorithm: name))
        }
    }

    /// A signature keeps the leading zeros of r and s. One signature in 128 has one.
    static func ecdsaSignaturesHaveFixedLength(_ provider: any KeyProvider) async throws {
        let key = try await provider.newSigningKey()
        var leadingZeros = 0
        for index in 0..<2000 {
            let message = signingInput(key, String(index))
            let signature = try await key.signature(over: message)
            #expect(signature.count == 64)
            guard signature[0] == 0 || signature[32] == 0 else { continue }
            leadingZeros += 1
            #expect(key.publicKey.verifies(signature, of: message, algorithm: .es256))
        }
        #expect(leadingZeros > 0)  // fails by chance once in 6 million runs
    }

    static func findsAKeyAgain(_ make: () throws -> any KeyProvider) async throws {
        let first = try make()
        let records = try await first.completeSet()
        let again = await KeySet(records, from: try make())
        #expect(again.problems.isEmpty)
        #expect(again.missing.isEmpty)
        let firstSet = await KeySet(records, from: first)
        #expect(again.jwks == firstSet.jwks)
        // It is never overwritten.
        await #expect(throws: KeyError.self) { try await first.generateRefreshTokenKey(id: 1) }
        await #expect(throws: KeyError.self) { try await first.generateDeviceKey() }
        #expect(await KeySet(records, from: first).problems.isEmpty)
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

    static func destroysForGood(_ provider: any KeyProvider) async throws {
        let record = KeyRecord.of(try await provider.generateSigningKey(.es256, modulusBits: 0), .accessToken)
        try await provider.destroy(record)
        await #expect(throws: KeyError.self) { try await provider.signingKey(record) }
        try await provider.destroy(record)  // an operator can finish an interrupted removal
    }

    static func signsConcurrently(_ provider: any KeyProvider, _ algorithm: KeyAlgorithm) async throws {
        let key = try await provider.newSigningKey(algorithm)
        let name = try #require(SignatureAlgorithm(name: algorithm.rawValue))
        let verified = try await withThrowingTaskGroup(of: Bool.self) { group in
            for task in 0..<64 {
                group.addTask {
                    for turn in 0..<20 {
                        let message = signingInput(key, "task \(task) turn \(turn)")
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

struct TestClock: WallClock {
    var behind: Seconds = 0
    var milliseconds: Int64 { Int64(Date().timeIntervalSince1970 * 1000) - behind.count * 1000 }
}
