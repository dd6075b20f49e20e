@testable import BrokerHTTP
import BrokerTesting
import NativeSSO
import StrictCoding
import Testing

@Suite("Rate limits, from socket to socket", .timeLimit(.minutes(1)))
struct RateLimitTests {
    private static let proxied = TrustedProxies(blocks: [AddressBlock("127.0.0.0/8")].compactMap(\.self))

    private static func options(_ change: (inout RequestLimits) -> Void) -> TestBroker.Options {
        var options = TestBroker.Options()
        options.trustedProxies = proxied
        change(&options.requestLimits)
        return options
    }

    private static func from(_ address: String) -> [String] { ["X-Forwarded-For: \(address)"] }

    private func expectLimited(
        _ answer: RawAnswer?, _ reason: String, retryAfter: String, _ broker: TestBroker
    ) throws {
        let answer = try #require(answer)
        #expect(answer.statusLine == "HTTP/1.1 429 Too Many Requests")
        #expect(answer.values("retry-after") == [retryAfter])
        #expect(
            answer.text
                == #"{"error":"temporarily_unavailable","error_description":"There are too many requests."}"#)
        #expect(answer.values("cache-control") == ["no-store"])
        #expect(!answer.closes)
        let event = try #require(broker.domain.audit.events.last)
        #expect(event.reason == reason)
        #expect(event.kind == .requestRefused)
        #expect(answer.values("x-request-id") == [event.requestID.description])
        #expect(broker.log.requests.last?.string("reason") == reason)
        #expect(broker.metrics.text.contains("native_sso_refusals_total{reason=\"\(reason)\"} "))
    }

    @Test("By address: whatever it asks, before it is read; others go on; and later it is welcome again")
    func address() async throws {
        let options = Self.options { $0.address = RateLimit(2, per: .seconds(60)) }
        try await TestBroker.run(options) { broker async throws in
            #expect(try await broker.answer(Requests.exchange, headers: Self.from("192.0.2.1"))?.status == 200)
            let noise = Requests.post("%zz", headers: Self.from("192.0.2.1"))
            #expect(try await broker.answer(noise)?.status == 400)
            try expectLimited(try await broker.answer(noise), "rate_limited_address", retryAfter: "30", broker)
            #expect(try await broker.answer(Requests.exchange, headers: Self.from("192.0.2.2"))?.status == 200)
            broker.monotonic.advance(by: .seconds(30))
            #expect(try await broker.answer(Requests.exchange, headers: Self.from("192.0.2.1"))?.status == 200)
        }
    }

    @Test("What a caller writes into headers changes nothing where nobody is trusted")
    func spoofedAddress() async throws {
        var options = Self.options { $0.address = RateLimit(1, per: .seconds(60)) }
        options.trustedProxies = .none
        try await TestBroker.run(options) { broker async throws in
            for _ in 0..<3 {
                #expect(try await broker.answer(Requests.exchange, headers: Self.from("192.0.2.1"))?.status == 200)
            }
        }
    }

    @Test("A secret that is guessed: soon nothing is looked at any more, from there; from elsewhere the client goes on")
    func guessedSecret() async throws {
        let options = Self.options { $0.clientFailures = RateLimit(3, per: .seconds(30)) }
        try await TestBroker.run(options) { broker async throws in
            let secret = "correct-horse-battery-staple"
            broker.domain.directory.put(
                ClientCredentials(secrets: [ClientSecretDigest(of: secret)]), of: ClientID(validated: "server"))
            let exchange = Requests.changed(Requests.exchange, [("client_id", nil)])
            func status(_ secret: String, _ address: String) async throws -> Int? {
                try await broker.answer(
                    exchange, headers: Self.from(address) + [Requests.basic("server:\(secret)")])?.status
            }
            for _ in 0..<3 { #expect(try await status("guess", "192.0.2.1") == 401) }
            let limited = try await broker.answer(
                exchange, headers: Self.from("192.0.2.1") + [Requests.basic("server:guess")])
            try expectLimited(limited, "rate_limited_client_failures", retryAfter: "10", broker)
            #expect(try await status(secret, "192.0.2.1") == 429)
            #expect(try await status(secret, "198.51.100.1") == 200)
            // Behind a proxy that says nothing, what is right still passes.
            for _ in 0..<6 { _ = try await status("guess", "127.0.0.1") }
            #expect(try await status("guess", "127.0.0.1") == 429)
            #expect(try await status(secret, "127.0.0.1") == 200)
            #expect(try await broker.answer(Requests.exchange, headers: Self.from("192.0.2.1"))?.status == 200)
        }
    }

    @Test("Wrong device values for one id_token: throttled, and the device itself is not")
    func guessedDevice() async throws {
        let options = Self.options {
            $0.deviceFailures = RateLimit(3, per: .seconds(60))
            $0.session = RateLimit(3, per: .seconds(60))
        }
        try await TestBroker.run(options) { broker async throws in
            for number in 0..<3 {
                let guess = Requests.changed(Requests.exchange, [("actor_token", "a-guess-at-the-device-\(number)")])
                #expect(try await broker.answer(guess)?.error == "invalid_grant")
            }
            let admissions = broker.domain.registry.admissions.count
            let guess = Requests.changed(Requests.exchange, [("actor_token", "another-guess-at-the-device")])
            try expectLimited(
                try await broker.answer(guess), "rate_limited_device_failures", retryAfter: "20", broker)
            #expect(broker.domain.registry.admissions.count == admissions)
            for _ in 0..<3 { #expect(try await broker.answer(Requests.exchange)?.status == 200) }
        }
    }

    @Test("A login that is exchanged in a loop waits, and nobody who lacks it can bring that about")
    func session() async throws {
        let options = Self.options { $0.session = RateLimit(2, per: .seconds(60)) }
        try await TestBroker.run(options) { broker async throws in
            broker.domain.verifier.answer(.refusal(.badSignature))
            for _ in 0..<5 { #expect(try await broker.answer(Requests.exchange)?.error == "invalid_request") }
            broker.domain.verifier.answer(.claims(Domain.claims(at: broker.domain.clock.now)))
            for _ in 0..<2 { #expect(try await broker.answer(Requests.exchange)?.status == 200) }
            try expectLimited(
                try await broker.answer(Requests.exchange), "rate_limited_session", retryAfter: "30", broker)
        }
    }

    @Test("A grant that is refreshed in a loop waits; what is no token of ours is charged to nobody")
    func grant() async throws {
        let options = Self.options { $0.session = RateLimit(2, per: .seconds(60)) }
        try await TestBroker.run(options) { broker async throws in
            let answer = try #require(try await broker.answer(Requests.exchange))
            let token = try #require(try JSONReader.parse(answer.body).object?.string("refresh_token"))
            let forged = String(token.dropLast(4)) + "AAAA"
            for _ in 0..<5 { #expect(try await broker.answer(Requests.refresh(forged))?.error == "invalid_grant") }
            for _ in 0..<2 { #expect(try await broker.answer(Requests.refresh(token))?.status == 200) }
            try expectLimited(
                try await broker.answer(Requests.refresh(token)), "rate_limited_session", retryAfter: "30", broker)
        }
    }
}
