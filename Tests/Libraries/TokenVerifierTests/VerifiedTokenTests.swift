import BrokerTesting
import JOSE
import StrictCoding
import Testing
import TokenVerifier

/// What a verifier remembers of the tokens that it verified, and what it checks again.
@Suite struct VerifiedTokenTests {
    private let key: TestKey
    private let other: TestKey

    init() throws {
        key = try TestKey.shared(.es256)
        other = try TestKey.shared(.es384)
    }

    @Test func aRememberedTokenIsStillCheckedForAudienceAndTime() async throws {
        let resource = Resource()
        try resource.loader.answer([key])
        let token = try resource.token(key)
        #expect(await resource.refusal(token)?.code == nil)
        #expect(await resource.refusal(token)?.code == nil)
        #expect(await resource.refusal(token, audience: "https://other.example.com")?.code == .wrongAudience)
        resource.time.advance(by: 400)
        #expect(await resource.refusal(token)?.code == .expired)
    }

    /// A withdrawn key verifies nothing, whatever was verified before.
    @Test func aTokenIsForgottenWithItsKey() async throws {
        let resource = Resource(policy: KeyCachePolicy(refreshAfter: .seconds(60), coolDown: .seconds(1)))
        try resource.loader.answer([key])
        let token = try resource.token(key)
        #expect(await resource.refusal(token)?.code == nil)
        try resource.loader.answer([other])
        resource.clock.advance(by: .seconds(61))
        // Starts the load in the background, which the next miss waits for.
        #expect(await resource.refusal(token)?.code == nil)
        #expect(await resource.refusal(try resource.token(other))?.code == .algorithmNotAllowed)
        #expect(
            await resource.refusal(try resource.token(try TestKey(.es256, keyID: "unheard-of")))?.code == .unknownKey)
        #expect(await resource.refusal(token)?.code == .unknownKey)
    }

    /// With room for two, and many more that come.
    @Test(arguments: [0, 1, 2, 50]) func everyTokenIsTakenWhateverTheRoom(capacity: Int) async throws {
        let resource = Resource(cachedTokens: capacity)
        try resource.loader.answer([key])
        let tokens = try (0..<20).map { try resource.token(key, [("jti", .string("t\($0)"))]) }
        for token in tokens + tokens.reversed() {
            let claims = try await resource.verifier.verify(token, audience: "https://api.example.com")
            #expect(tokens[Int(claims.tokenID.dropFirst()) ?? 99] == token)
        }
    }
}

/// RFC 9449 §11.1.
@Suite struct UsedProofTests {
    private static let target = "https://api.example.com/orders"

    private func proof(_ key: TestKey, id: String) throws -> DPoPProof {
        var proof = TestProof(by: key, for: Self.target, at: Resource.now)
        proof.claims["jti"] = .string(id)
        return try DPoPProof(
            [try proof.signed()], method: "POST", target: try #require(TargetURI(Self.target)),
            times: Resource.now...Resource.now)
    }

    private func use(_ proof: DPoPProof, _ used: UsedProofs) -> VerificationError.Code? {
        do throws(VerificationError) {
            try used.use(proof)
            return nil
        } catch {
            return error.code
        }
    }

    @Test func aProofWorksOnceForEachKey() throws {
        let (used, key) = (UsedProofs(), try TestKey(.es256, keyID: nil))
        #expect(use(try proof(key, id: "a"), used) == nil)
        #expect(use(try proof(key, id: "a"), used) == .usedProof)
        #expect(use(try proof(key, id: "b"), used) == nil)
        #expect(use(try proof(try TestKey(.es256, keyID: nil), id: "a"), used) == nil)
    }

    /// For as long as its `iat` would be accepted, and at most twice that.
    @Test func aProofIsForgottenWhenItsTimeIsOver() throws {
        let (clock, key) = (ManualClock(), try TestKey(.es256, keyID: nil))
        let used = UsedProofs(capacity: 2, clock: clock)
        let first = try proof(key, id: "a")
        #expect(use(first, used) == nil)
        clock.advance(by: .seconds(90))
        #expect(use(first, used) == .usedProof)
        clock.advance(by: .seconds(1))
        #expect(use(first, used) == .usedProof)
        clock.advance(by: .seconds(181))
        #expect(use(first, used) == nil)
    }

    /// To forget one would let it work again.
    @Test func whenFullItRefusesNewOnes() throws {
        let (clock, key) = (ManualClock(), try TestKey(.es256, keyID: nil))
        let used = UsedProofs(capacity: 2, clock: clock)
        for id in ["a", "b"] { #expect(use(try proof(key, id: id), used) == nil) }
        #expect(use(try proof(key, id: "c"), used) == .tooManyProofs)
        #expect(use(try proof(key, id: "a"), used) == .usedProof)
        clock.advance(by: .seconds(91))
        #expect(use(try proof(key, id: "c"), used) == nil)
    }
}

@Suite struct KeySetAddressTests {
    @Test(arguments: [
        "https://sso.example.com/.well-known/jwks.json", "http://127.0.0.1:8081/.well-known/jwks.json",
        "http://localhost/jwks", "http://[::1]:8081/jwks",
    ])
    func addresses(text: String) { #expect(HTTPKeySetLoader(text) != nil) }

    @Test(arguments: ["http://sso.example.com/jwks", "ftp://sso.example.com/jwks", "file:///etc/passwd", "jwks", ""])
    func otherAddresses(text: String) { #expect(HTTPKeySetLoader(text) == nil) }
}
