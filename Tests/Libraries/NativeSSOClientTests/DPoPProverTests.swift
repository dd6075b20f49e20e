import JOSE
import NativeSSOClient
import OAuthWire
import Testing

@Suite struct DPoPProverTests {
    private static let address = "https://sso.example.test/token"
    private static let now: Int64 = 1_795_000_000

    private static func endpoint(
        _ transport: ScriptedTransport, _ key: any ProofKey = SoftwareProofKey()
    ) -> NativeSSOClient.TokenEndpoint {
        NativeSSOClient.TokenEndpoint(
            address: address, clientID: "app-two", transport: transport, prover: DPoPProver(key: key) { now })
    }

    /// As the server sees it.
    private static func read(_ proof: String?, method: String = "POST", _ address: String = address) throws -> DPoPProof
    {
        try DPoPProof(
            [try #require(proof)], method: method, target: try #require(TargetURI(address)), times: now...now)
    }

    @Test func aProofGoesWithEachRequest() async throws {
        let transport = ScriptedTransport([.tokens("at", refresh: "rt"), .tokens("at2", refresh: "rt2")])
        let endpoint = Self.endpoint(transport)
        _ = try await endpoint.refresh(Credential("rt"))
        _ = try await endpoint.exchange(
            SharedLogin(idToken: Credential("a.b.c"), device: .secret(Credential("s"))), issuer: "https://idp.test")
        let proofs = try await transport.requests.map { try Self.read($0[field: "DPoP"]) }
        #expect(proofs.count == 2)
        #expect(proofs[0].keyThumbprint == proofs[1].keyThumbprint)
        #expect(proofs[0].tokenID != proofs[1].tokenID)
        #expect(proofs.allSatisfy { $0.nonce == nil })
    }

    @Test func withoutAKeyThereIsNone() async throws {
        let transport = ScriptedTransport([.nonce("n")])
        let endpoint = NativeSSOClient.TokenEndpoint(address: Self.address, clientID: "app-two", transport: transport)
        let error = await #expect(throws: ClientError.self) { try await endpoint.refresh(Credential("rt")) }
        #expect(error?.remedy(after: .refresh) == .retry(after: nil))
        #expect(await transport.requests.map { $0[field: "DPoP"] } == [nil])
    }

    @Test func aNonceIsTakenUpOnceAndKept() async throws {
        let transport = ScriptedTransport([.nonce("n1"), .tokens("at"), .tokens("at"), .nonce("n2"), .nonce("n3")])
        let endpoint = Self.endpoint(transport)
        for _ in 0..<2 { _ = try await endpoint.refresh(Credential("rt")) }
        let error = await #expect(throws: ClientError.self) { try await endpoint.refresh(Credential("rt")) }
        #expect(error?.remedy(after: .refresh) == .retry(after: nil))
        let nonces = try await transport.requests.map { try Self.read($0[field: "DPoP"]).nonce }
        #expect(nonces == [nil, "n1", "n1", "n1", "n2"])
    }

    @Test func aKeyThatDoesNotSignCostsNothing() async throws {
        struct Locked: ProofKey {
            struct IsLocked: Error {}
            let publicPoint = SoftwareProofKey().publicPoint
            func signature(over message: [UInt8]) async throws -> [UInt8] { throw IsLocked() }
        }
        let transport = ScriptedTransport([])
        let error = await #expect(throws: ClientError.self) {
            try await Self.endpoint(transport, Locked()).refresh(Credential("rt"))
        }
        #expect(error?.remedy(after: .refresh) == .retry(after: nil))
        #expect(await transport.requests.isEmpty)
    }

    @Test func forAServerThatGetsTheToken() async throws {
        let key = SoftwareProofKey()
        let again = try #require(SoftwareProofKey(secret: key.secret))
        #expect(SoftwareProofKey(secret: [1]) == nil)
        #expect("\(key) \(String(reflecting: key))" == "**** ****")
        let prover = DPoPProver(key: again) { Self.now }
        let proof = try Self.read(
            try await prover.proof("GET", "https://api.test/orders?page=2#x", accessToken: Credential("at")),
            method: "GET", "https://api.test/orders")
        try proof.requireAccessToken("at", boundTo: proof.keyThumbprint)
        let other = try Self.read(try await DPoPProver(key: key) { Self.now }.proof("POST", Self.address))
        #expect(other.keyThumbprint == proof.keyThumbprint)
    }
}
