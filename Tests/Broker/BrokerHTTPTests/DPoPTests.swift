@testable import BrokerHTTP
import BrokerTesting
import JOSE
import NativeSSO
import StrictCoding
import RegistryConformance
import Testing

@Suite("DPoP at the token endpoint", .timeLimit(.minutes(1)))
struct DPoPTests {
    private static let target = "https://sso.example.com/token"

    private static func proof(
        _ key: TestKey? = nil, at now: Int64 = FixedClock().now.seconds, nonce: String? = nil,
        _ bend: (inout TestProof) -> Void = { _ in }
    ) throws -> String {
        var proof = TestProof(by: try key ?? TestKey.shared(.es256), for: target, at: now, nonce: nonce)
        bend(&proof)
        return "DPoP: \(try proof.signed())"
    }

    private static func exchange(by client: String = "app-bound") -> Requests.Parameters {
        Requests.changed(Requests.exchange, [("client_id", client)])
    }

    private static func refreshToken(_ answer: RawAnswer?) throws -> String {
        let answer = try #require(answer)
        return try #require(try JSONReader.parse(answer.body).object?.string("refresh_token"))
    }

    private static func expectBound(_ answer: RawAnswer?, to key: TestKey) throws {
        let answer = try #require(answer)
        let body = try #require(try JSONReader.parse(answer.body).object)
        #expect(body.string("token_type") == "DPoP")
        let claims = try #require(UnverifiedJWS(body.string("access_token") ?? "")).claims
        #expect(claims.object("cnf")?.string("jkt") == TestProof.thumbprint(of: key))
        #expect(claims.object("cnf")?.count == 1)
    }

    @Test("An optional proof binds an exchange and its refreshes to its key")
    func bound() async throws {
        try await TestBroker.run { broker async throws in
            let key = try TestKey.shared(.es256)
            let first = try await broker.answer(Self.exchange(), headers: [try Self.proof()])
            try Self.expectBound(first, to: key)
            #expect(first?.values("dpop-nonce").isEmpty == true)
            let refresh = Requests.refresh(try Self.refreshToken(first), client: "app-bound")
            for headers in [[], [try Self.proof(TestKey.shared(.ed25519))]] {
                #expect(try await broker.answer(refresh, headers: headers)?.error == "invalid_dpop_proof")
            }
            #expect(broker.domain.audit.events.map(\.reason) == ["jkt_missing", "jkt_mismatch"])
            try Self.expectBound(try await broker.answer(refresh, headers: [try Self.proof()]), to: key)
            // Nor is another exchange on this device without the key.
            #expect(try await broker.answer(Self.exchange())?.error == "invalid_grant")
            #expect(broker.domain.audit.events.last?.reason == "pin_conflict")
        }
    }

    @Test("The policy decides whether proofs are ignored, optional or required")
    func policy() async throws {
        try await TestBroker.run { broker async throws in
            for (client, header, type) in [
                ("app-two", try Self.proof(), "Bearer"), ("app-two", "DPoP: nonsense", "Bearer"),
                ("app-bound", "X: y", "Bearer"), ("app-always-bound", try Self.proof(), "DPoP"),
            ] {
                let answer = try #require(try await broker.answer(Self.exchange(by: client), headers: [header]))
                #expect(try JSONReader.parse(answer.body).object?.string("token_type") == type)
                let token = try #require(
                    try JSONReader.parse(answer.body).object?.string("access_token").flatMap(UnverifiedJWS.init))
                #expect(token.claims.contains("cnf") == (type == "DPoP"))
            }
            for refusal in ["nonsense", ""] {
                let bad = try #require(
                    try await broker.answer(Self.exchange(), headers: ["DPoP: \(refusal)"]))
                #expect(bad.error == "invalid_dpop_proof")
                #expect(broker.log.requests.last?.string("reason") == "dpop_malformed")
            }
        }
    }

    @Test("Without nonces a proof is good for 60 s, and the device's clock may be 30 s ahead")
    func window() async throws {
        try await TestBroker.run { broker async throws in
            let now = FixedClock().now.seconds
            for (time, error) in [
                (now - 60, nil), (now - 61, "invalid_dpop_proof"), (now + 30, nil), (now + 31, "invalid_dpop_proof"),
            ] as [(Int64, String?)] {
                let answer = try #require(try await broker.answer(Self.exchange(), headers: [try Self.proof(at: time)]))
                #expect(answer.error == error, "\(time - now)")
            }
            #expect(broker.domain.audit.events.map(\.reason) == ["dpop_iat", "dpop_iat"])
        }
    }

    @Test("A proof works once; an outage of the registry does not use it up")
    func once() async throws {
        try await TestBroker.run { broker async throws in
            let header = try Self.proof()
            broker.domain.registry.fail(with: .outage(Outage(.database, "gone")))
            #expect(try await broker.answer(Self.exchange(), headers: [header])?.status == 503)
            broker.domain.registry.fail(with: nil)
            let first = try await broker.answer(Self.exchange(), headers: [header])
            #expect(first?.status == 200)
            let refresh = Requests.refresh(try Self.refreshToken(first), client: "app-bound")
            for form in [Self.exchange(), refresh] {
                #expect(try await broker.answer(form, headers: [header])?.error == "invalid_dpop_proof")
                #expect(broker.log.requests.last?.string("reason") == "dpop_replayed")
            }
            #expect(try await broker.answer(refresh, headers: [try Self.proof()])?.status == 200)
        }
    }

    @Test("A nonce works for a while on every replica, and each 200 brings a new one")
    func nonces() async throws {
        try await TestBroker.run(TestBroker.Options(asksForNonce: true)) { broker async throws in
            func refused(_ header: String, _ reason: NonceDefect) async throws -> String {
                let answer = try #require(try await broker.answer(Self.exchange(), headers: [header]))
                #expect(answer.status == 400)
                #expect(answer.error == "use_dpop_nonce")
                #expect(answer.values("cache-control") == ["no-store"])
                #expect(broker.domain.audit.events.last?.reason == reason.row.reason)
                #expect(answer.values("dpop-nonce").count == 1)
                return answer.values("dpop-nonce").first ?? ""
            }
            let nonce = try await refused(try Self.proof(), .missing)
            #expect(nonce.utf8.count == 34)
            let answer = try await broker.answer(Self.exchange(), headers: [try Self.proof(nonce: nonce)])
            #expect(answer?.status == 200)
            #expect(answer?.values("dpop-nonce").first?.utf8.count == 34)
            // The device's clock may now be wrong by up to ten minutes.
            let now = FixedClock().now.seconds
            for (time, isGood) in [(now - 600, true), (now + 600, true), (now - 601, false), (now + 601, false)] {
                let answer = try await broker.answer(
                    Self.exchange(), headers: [try Self.proof(at: time, nonce: nonce)])
                #expect(answer?.error == (isGood ? nil : "invalid_dpop_proof"))
            }
            _ = try await refused(try Self.proof(nonce: ""), .unknown)
            _ = try await refused(try Self.proof(nonce: String(nonce.dropLast()) + "_"), .unknown)
            _ = try await refused(try Self.proof(nonce: String(nonce.reversed())), .unknown)
            // A defective proof is refused with or without a nonce.
            let get = try await broker.answer(
                Self.exchange(), headers: [try Self.proof { $0.claims["htm"] = .string("GET") }])
            #expect(get?.error == "invalid_dpop_proof")
            // Almost five minutes later, and under a key that is no longer active.
            broker.domain.macKeys.use(keyID: 2)
            broker.domain.clock.advance(by: 299)
            let later = broker.domain.clock.now.seconds
            let good = try await broker.answer(Self.exchange(), headers: [try Self.proof(at: later, nonce: nonce)])
            #expect(good?.status == 200)
            broker.domain.clock.advance(by: 1)
            let fresh = try await refused(try Self.proof(at: later, nonce: nonce), .stale)
            broker.domain.macKeys.remove(keyID: 1)
            _ = try await refused(try Self.proof(at: later, nonce: nonce), .unknown)
            #expect(
                try await broker.answer(Self.exchange(), headers: [try Self.proof(at: later, nonce: fresh)])?.status
                    == 200)
            // A request without a proof gets no nonce.
            #expect(try await broker.answer(Self.exchange(by: "app-two"))?.values("dpop-nonce").isEmpty == true)
        }
    }

    @Test("An unavailable key module is an outage, not a refusal")
    func outage() async throws {
        try await TestBroker.run(TestBroker.Options(asksForNonce: true)) { broker async throws in
            let nonce = try await ProofNonces(keys: broker.domain.macKeys, life: 300).make(at: broker.domain.clock.now)
            broker.domain.macKeys.fail(with: .outage(Outage(.keyModule, "gone")))
            for header in [try Self.proof(), try Self.proof(nonce: nonce)] {
                #expect(try await broker.answer(Self.exchange(), headers: [header])?.status == 503)
            }
            broker.domain.macKeys.fail(with: nil)
            #expect(try await broker.answer(Self.exchange(), headers: [try Self.proof(nonce: nonce)])?.status == 200)
        }
    }

    @Test("A nonce from the future is stale, apart from clock differences between replicas")
    func nonceOfAnotherReplica() async throws {
        let nonces = ProofNonces(keys: SoftwareMACKeys(), life: 300)
        let now = FixedClock().now
        for (age, defect) in [(0, nil), (-30, nil), (-31, .stale), (299, nil), (300, .stale)] as [(Int64, NonceDefect?)]
        {
            let nonce = try await nonces.make(at: UnixTime(seconds: now.seconds - age))
            #expect(try await nonces.defect(of: nonce, at: now) == defect, "\(age)")
        }
        for time in [Int64.min, .max] {
            let nonce = try await nonces.make(at: UnixTime(seconds: time))
            #expect(try await nonces.defect(of: nonce, at: now) == .stale)
        }
    }
}
