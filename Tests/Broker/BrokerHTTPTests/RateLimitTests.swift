@testable import BrokerHTTP
@testable import HTTPServer
import BrokerTesting
import NativeSSO
import StrictCoding
import RegistryConformance
import Testing

@Suite("Rate limits over a real socket", .timeLimit(.minutes(1)))
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
        #expect(answer.error == "temporarily_unavailable")
        #expect(!answer.closes)
        let event = try #require(broker.domain.audit.events.last)
        #expect(event.reason == reason)
        #expect(event.kind == .requestRefused)
        #expect(answer.values("x-request-id") == [event.requestID.description])
        #expect(broker.log.requests.last?.string("reason") == reason)
        #expect(broker.metrics.text.contains("native_sso_refusals_total{reason=\"\(reason)\"} "))
    }

    @Test("Malformed requests count against the limit of their address")
    func faults() async throws {
        let faults: [(Int, String)] = [
            (400, "POST /token HTTP/1.1\r\nX-Forwarded-For: 192.0.2.1\r\n\r\n"),
            (413, Requests.post(String(repeating: "a", count: 100), headers: Self.from("192.0.2.1"))),
            (
                400,
                "GET http://sso.example.com/ HTTP/1.1\r\nHost: sso.example.com\r\nX-Forwarded-For: 192.0.2.1\r\n\r\n"
            ),
        ]
        for (status, fault) in faults {
            var options = Self.options { $0.address = RateLimit(2, per: .seconds(60)) }
            options.limits = ListenerLimits(bodySize: 50)
            try await TestBroker.run(options) { broker async throws in
                for _ in 0..<2 { #expect(try await broker.answer(fault)?.status == status) }
                let answer = try #require(try await broker.answer(fault))
                #expect(answer.status == 429 && answer.closes)
                #expect(answer.values("retry-after") == ["30"])
                #expect(broker.domain.audit.events.last?.reason == "rate_limited_address")
                let noise = Requests.post("%zz", headers: Self.from("192.0.2.1"))
                #expect(try await broker.answer(noise)?.status == 429)
                let elsewhere = Requests.post("%zz", headers: Self.from("192.0.2.2"))
                #expect(try await broker.answer(elsewhere)?.status == 400)
            }
        }
    }

    @Test("Only a limited request logs its network, never its address")
    func networkInTheLog() async throws {
        let options = Self.options { $0.address = RateLimit(1, per: .seconds(60)) }
        try await TestBroker.run(options) { broker async throws in
            for (address, network) in [("192.0.2.77", "192.0.2.0/24"), ("2001:db8:7:1::5", "2001:db8:7::/48")] {
                #expect(try await broker.answer(Requests.exchange, headers: Self.from(address))?.status == 200)
                #expect(broker.log.requests.last?.string("network") == nil)
                #expect(try await broker.answer(Requests.exchange, headers: Self.from(address))?.status == 429)
                #expect(broker.log.requests.last?.string("network") == network)
                #expect(!broker.log.all.contains(address))
            }
        }
    }

    @Test("The audit and the log name a limited client")
    func limitedClient() async throws {
        let options = Self.options { $0.client = RateLimit(1, per: .seconds(60)) }
        try await TestBroker.run(options) { broker async throws in
            let secret = "correct-horse-battery-staple"
            broker.domain.directory.put(
                ClientCredentials(secrets: [ClientSecretDigest(of: secret)]), of: ClientID(validated: "server"))
            let exchange = Requests.changed(Requests.exchange, [("client_id", nil)])
            let headers = Self.from("192.0.2.1") + [Requests.basic("server:\(secret)")]
            #expect(try await broker.answer(exchange, headers: headers)?.status == 200)
            try expectLimited(
                try await broker.answer(exchange, headers: headers), "rate_limited_client", retryAfter: "60", broker)
            #expect(broker.domain.audit.events.last?.client == ClientID(validated: "server"))
            #expect(broker.log.requests.last?.string("client_id") == "server")
        }
    }

    @Test("Answers do not reveal which clients exist")
    func unknownClients() async throws {
        let options = Self.options { $0.clientFailures = RateLimit(2, per: .seconds(30)) }
        try await TestBroker.run(options) { broker async throws in
            let exchange = Requests.changed(Requests.exchange, [("client_id", nil)])
            var answers: [String: [String]] = [:]
            for name in ["server", "nobody", "no client at all"] {
                for _ in 0..<4 {
                    let answer = try await broker.answer(
                        exchange,
                        headers: Self.from("192.0.2.1") + [Requests.basic("\(name.replacing(" ", with: "+")):guess")])
                    answers[name, default: []].append("\(answer?.status ?? 0) \(answer?.text ?? "")")
                }
            }
            #expect(answers["server"]?.map { $0.prefix(3) } == ["401", "401", "429", "429"])
            #expect(Set(answers.values).count == 1)
        }
    }

    @Test("Guesses with an expired login do not limit its right device")
    func guessedDeviceOfAnOldToken() async throws {
        let options = Self.options { $0.deviceFailures = RateLimit(1, per: .seconds(60)) }
        try await TestBroker.run(options) { broker async throws in
            broker.domain.clock.advance(by: .days(400))
            let guess = Requests.changed(Requests.exchange, [("actor_token", "a-guess-at-the-device-of-it")])
            #expect(try await broker.answer(guess)?.error == "invalid_grant")
            #expect(try await broker.answer(guess)?.status == 429)
            #expect(try await broker.answer(Requests.exchange)?.error == "invalid_grant")
            #expect(broker.domain.audit.events.last?.reason == "subject_token_too_old")
        }
    }

    @Test("Forged tokens do not count for the login or the grant that they name")
    func forged() async throws {
        let options = Self.options { $0.session = RateLimit(2, per: .seconds(60)) }
        try await TestBroker.run(options) { broker async throws in
            broker.domain.verifier.answer(.refusal(.badSignature))
            for _ in 0..<5 { #expect(try await broker.answer(Requests.exchange)?.error == "invalid_request") }
            broker.domain.verifier.answer(.claims(Domain.claims(at: broker.domain.clock.now)))
            #expect(try await broker.answer(Requests.exchange)?.status == 200)
            let answer = try #require(try await broker.answer(Requests.exchange))
            let token = try #require(try JSONReader.parse(answer.body).object?.string("refresh_token"))
            try expectLimited(
                try await broker.answer(Requests.exchange), "rate_limited_session", retryAfter: "30", broker)
            let forged = String(token.dropLast(4)) + "AAAA"
            for _ in 0..<5 { #expect(try await broker.answer(Requests.refresh(forged))?.error == "invalid_grant") }
            for _ in 0..<2 { #expect(try await broker.answer(Requests.refresh(token))?.status == 200) }
            try expectLimited(
                try await broker.answer(Requests.refresh(token)), "rate_limited_session", retryAfter: "30", broker)
        }
    }
}
