import BrokerTesting
import NativeSSO
import StrictCoding
import Testing

@testable import BrokerHTTP

@Suite("POST /backchannel-logout", .timeLimit(.minutes(1)))
struct LogoutEndpointTests {
    private static func post(_ parameters: Requests.Parameters = [("logout_token", "eyJ.e30.c2ln")]) -> String {
        Requests.post(parameters).replacing("POST /token ", with: "POST /backchannel-logout ")
    }

    /// So many logouts of an issuer, or forgeries, from one address in 20 s.
    private static func limited(_ count: Int) -> TestBroker.Options {
        var options = TestBroker.Options()
        options.requestLimits.logout = RateLimit(count, per: .seconds(20))
        return options
    }

    @Test("A logout gets 200 with no-store, and a repeated token the same answer without an end")
    func ends() async throws {
        try await TestBroker.run { broker async throws in
            let answer = try #require(try await broker.internalAnswer(Self.post()))
            #expect(answer.status == 200)
            #expect(answer.text == "{}")
            #expect(answer.values("cache-control") == ["no-store"])
            let record = try #require(broker.domain.logouts.records.first)
            #expect(record.issuer == Domain.issuer)
            #expect(record.sidDigest == Domain.sessionID.digest && record.user == nil)
            #expect(answer.values("x-request-id") == [record.requestID.description])
            #expect(record.rememberedUntil > broker.domain.clock.now)
            #expect(broker.log.all.contains(#""sessions_ended":1"#))
            #expect(try await broker.internalAnswer(Self.post())?.text == "{}")
            for line in [
                #"native_sso_logouts_total{outcome="ended"} 2"#, #"native_sso_sessions_ended_total{by="logout"} 1"#,
            ] {
                #expect(broker.metrics.text.contains(line + "\n"))
            }
        }
    }

    @Test("Only a form with exactly one token is accepted, up to the length of an id_token")
    func form() async throws {
        let head = "eyJhbGciOiJSUzI1NiJ9." + Base64URL.encode([UInt8](repeating: 0x7B, count: 500)) + "."
        func signed(_ octets: Int) -> String {
            Self.post([("logout_token", head + Base64URL.encode([UInt8](repeating: 0xFF, count: octets)))])
        }
        try await TestBroker.run { broker async throws in
            for (request, reason) in [
                (Self.post([]), "logout_token_missing"), (Self.post([("logout_token", "")]), "logout_token_missing"),
                (Self.post([("id_token", "eyJ.e30.c2ln")]), "logout_token_missing"),
                (Self.post([("logout_token", "a"), ("logout_token", "b")]), "form_duplicate_parameter"),
                (
                    Requests.post("{}", target: "/backchannel-logout", contentType: "application/json"),
                    "http_content_type"
                ),
                (Requests.post("logout_token=a", target: "/backchannel-logout?x=y"), "http_query"),
                (signed(16 * 1024), "form_value_too_long"),
            ] {
                try await broker.expectLogoutRefusal(request, reason)
            }
            // OpenID Connect Core §10.1: the identity provider chooses its keys. Here RSA of 4096 bits.
            #expect(try await broker.internalAnswer(signed(512))?.status == 200)
            #expect(try await broker.internalAnswer(Requests.get("/backchannel-logout"))?.values("allow") == ["POST"])
        }
    }

    @Test("The audience must be a registered app or a configured name")
    func audience() async throws {
        try await TestBroker.run { broker async throws in
            for (audience, isRefused) in [
                (["app-one"], false), (["native-sso"], false), (["native-sso", "app-two"], false),
                (["somebody-else"], true), (["app-one", "somebody-else"], true),
            ] {
                broker.domain.logoutVerifier.answer(
                    .success(Domain.logout(at: broker.domain.clock.now, audience: audience, tokenID: "\(audience)")))
                if isRefused {
                    try await broker.expectLogoutRefusal(Self.post(), "logout_token_aud")
                } else {
                    #expect(try await broker.internalAnswer(Self.post())?.status == 200, "\(audience)")
                }
            }
        }
    }

    @Test("L-17 an outage gets 400 with Retry-After; a defect gets server_error")
    func outages() async throws {
        try await TestBroker.run { broker async throws in
            func expectOutage() async throws {
                let answer = try #require(try await broker.internalAnswer(Self.post()))
                #expect(answer.status == 400 && answer.error == "temporarily_unavailable")
                #expect(answer.values("retry-after") == ["1"])
                #expect(answer.values("cache-control") == ["no-store"])
            }
            broker.domain.logouts.fail(with: .outage(Outage(.database, "away")))
            try await expectOutage()
            broker.domain.logouts.fail(with: .broken("x"))
            let defect = try await broker.internalAnswer(Self.post())
            #expect(defect?.status == 400 && defect?.error == "server_error")
            broker.domain.logouts.fail(with: nil)
            broker.domain.directory.fail(with: .outage(Outage(.database, "never loaded")))
            try await expectOutage()
            broker.domain.directory.fail(with: nil)
            broker.domain.logoutVerifier.answer(.failure(.outage(Outage(.identityProvider, "no key set"))))
            try await expectOutage()
            #expect(broker.domain.audit.events.isEmpty)
        }
    }

    @Test("Tokens in a flood are not verified, and are accepted after it")
    func flood() async throws {
        try await TestBroker.run(Self.limited(2)) { broker async throws in
            broker.domain.logoutVerifier.answer(.failure(.refused(.badSignature)))
            for _ in 0..<2 { try await broker.expectLogoutRefusal(Self.post(), LogoutRefusal.badSignature.row.reason) }
            broker.domain.logoutVerifier.answer(.success(Domain.logout(at: broker.domain.clock.now)))
            // A request without a token is not counted.
            #expect(try await broker.internalAnswer(Self.post([]))?.status == 400)
            let answer = try #require(try await broker.internalAnswer(Self.post()))
            #expect(answer.status == 400)
            #expect(answer.values("retry-after") == ["10"])
            #expect(answer.text.contains(#""error":"temporarily_unavailable""#))
            let event = try #require(broker.domain.audit.events.last)
            #expect(event.reason == "rate_limited_logout" && event.kind == .logoutRefused)
            #expect(broker.metrics.text.contains(#"native_sso_refusals_total{reason="rate_limited_logout"} 1"# + "\n"))
            #expect(broker.domain.logouts.records.isEmpty)
            // Token requests are not affected.
            #expect(try await broker.answer(Requests.exchange)?.status == 200)
            broker.monotonic.advance(by: .seconds(10))
            #expect(try await broker.internalAnswer(Self.post())?.status == 200)
        }
    }

    @Test("Refused logout tokens of one address do not throttle another")
    func floodFromElsewhere() async throws {
        try await TestBroker.run(Self.limited(1)) { broker async throws in
            func reason(_ source: String) async throws -> String? {
                _ = try await broker.internalAnswer(Self.post(), from: source)
                return broker.log.logouts.last?.string("reason")
            }
            broker.domain.logoutVerifier.answer(.failure(.refused(.badSignature)))
            #expect(try await reason("127.0.0.2") == LogoutRefusal.badSignature.row.reason)
            #expect(try await reason("127.0.0.2") == "rate_limited_logout")
            broker.domain.logoutVerifier.answer(.success(Domain.logout(at: broker.domain.clock.now)))
            #expect(try await reason("127.0.0.2") == "rate_limited_logout")
            #expect(try await reason("127.0.0.1") == "none")
        }
    }

    @Test("Signed or cheaply refused tokens do not count as forgeries")
    func ownMistakes() async throws {
        try await TestBroker.run(Self.limited(1)) { broker async throws in
            for reason in [LogoutRefusal.audience, .issuedAt, .expiry, .events, .malformed, .issuer] {
                broker.domain.logoutVerifier.answer(.failure(.refused(reason)))
                for _ in 0..<3 { try await broker.expectLogoutRefusal(Self.post(), reason.row.reason) }
            }
            broker.domain.logoutVerifier.answer(.success(Domain.logout(at: broker.domain.clock.now)))
            #expect(try await broker.internalAnswer(Self.post())?.status == 200)
        }
    }

    @Test("The limit of one issuer and address throttles no other issuer or address")
    func floodOfOneIssuer() async throws {
        try await TestBroker.run(Self.limited(1)) { broker async throws in
            func reason(_ issuer: Issuer, _ tokenID: String, _ source: String) async throws -> String? {
                broker.domain.logoutVerifier.answer(
                    .success(Domain.logout(at: broker.domain.clock.now, issuer: issuer, tokenID: tokenID)))
                _ = try await broker.internalAnswer(Self.post(), from: source)
                return broker.log.logouts.last?.string("reason")
            }
            let other = Issuer(validated: "https://lenient.example")
            #expect(try await reason(Domain.issuer, "1", "127.0.0.2") == "none")
            #expect(try await reason(Domain.issuer, "1", "127.0.0.2") == "rate_limited_logout")
            #expect(try await reason(other, "1", "127.0.0.2") == "none")
            #expect(try await reason(Domain.issuer, "2", "127.0.0.1") == "none")
            #expect(try await reason(Domain.issuer, "2", "127.0.0.3") == "none")
        }
    }
}

extension TestBroker {
    fileprivate func expectLogoutRefusal(_ request: String, _ reason: String) async throws {
        let answer = try #require(try await internalAnswer(request))
        #expect(answer.status == 400, "\(answer.text)")
        #expect(answer.text.contains(#""error":"invalid_request""#))
        #expect(answer.values("cache-control") == ["no-store"])
        let event = domain.audit.events.last
        #expect(event?.reason == reason)
        #expect(event?.kind == .logoutRefused)
        #expect(answer.values("x-request-id") == [event?.requestID.description])
    }
}
