import BrokerHTTP
import BrokerTesting
import NativeSSO
import StrictCoding
import RegistryConformance
import Testing

@Suite("POST /token over a real socket", .timeLimit(.minutes(1)))
struct TokenEndpointTests {
    @Test("A 2018-profile exchange with Basic returns the right body, headers and log line")
    func exchange() async throws {
        try await TestBroker.run { broker async throws in
            let parameters = Requests.changed(
                Requests.exchange, [("client_id", nil), ("scope", "profile orders.read")])
            let answer = try #require(try await broker.answer(parameters, headers: [Requests.basic("app-two:")]))
            #expect(answer.statusLine == "HTTP/1.1 200 OK")
            let body = try #require(try JSONReader.parse(answer.body).object)
            #expect(
                body.names == [
                    "access_token", "issued_token_type", "token_type", "expires_in", "scope", "refresh_token",
                ])
            #expect(body.string("issued_token_type") == "urn:ietf:params:oauth:token-type:access_token")
            #expect(body.string("token_type") == "Bearer")
            #expect(body.number("expires_in")?.int64 == 300)
            #expect(body.string("scope") == "profile orders.read")
            let claims = try #require(UnverifiedJWS(body.string("access_token") ?? "")).claims
            #expect(claims.string("client_id") == "app-two")
            #expect(claims.string("sub") == Domain.subject.string)
            #expect(body.string("refresh_token")?.hasPrefix("nsr1.") == true)

            #expect(answer.values("cache-control") == ["no-store"])
            #expect(answer.values("pragma") == ["no-cache"])
            #expect(answer.values("content-type") == ["application/json"])
            #expect(answer.values("x-content-type-options") == ["nosniff"])
            #expect(answer.values("date") == ["Wed, 18 Nov 2026 11:06:40 GMT"])
            #expect(answer.values("server").isEmpty)
            #expect(!answer.closes)
            let requestID = try #require(answer.values("x-request-id").first.flatMap(UniqueID.init))
            #expect(broker.domain.registry.admissions.map(\.request.requestID) == [requestID])

            let line = try #require(broker.log.requests.first)
            #expect(broker.log.requests.count == 1)
            #expect(line.string("request_id") == requestID.description)
            #expect(line.string("grant") == "token_exchange")
            #expect(line.string("client_id") == "app-two")
            #expect(line.string("issuer") == "https://idp.example.com")
            #expect(line.string("session_id").flatMap(UniqueID.init) != nil)
            #expect(line.string("trace_id") == nil)
            #expect(line.string("outcome") == "granted")
            #expect(line.number("status")?.int64 == 200)
            #expect(broker.domain.audit.events.isEmpty)
        }
    }

    @Test("The log names the copied claims that did not fit, and holds no value of them")
    func claimsLeftOut() async throws {
        try await TestBroker.run { broker async throws in
            var client = Domain.client("app-two")
            client.copiedClaims = ["roles", "email", "photo"]
            broker.domain.directory.put(client)
            var claims = JSONObject()
            claims["roles"] = .string(String(repeating: "r", count: 2048))
            claims["email"] = .string("a@b.example")
            claims["photo"] = .string(String(repeating: "p", count: 2048))
            broker.domain.verifier.answer(.claims(Domain.claims(at: broker.domain.clock.now, all: claims)))
            let answer = try #require(try await broker.answer(Requests.exchange))
            let token = try JSONReader.parse(answer.body).object?.string("access_token")
            #expect(UnverifiedJWS(token ?? "")?.claims.string("email") == "a@b.example")
            #expect(broker.log.requests.last?.string("claims_left_out") == "roles photo")
            #expect(!broker.log.all.contains("a@b") && !broker.log.all.contains("rrr"))
            broker.domain.verifier.answer(.claims(Domain.claims(at: broker.domain.clock.now)))
            #expect(try await broker.answer(Requests.exchange)?.status == 200)
            #expect(broker.log.requests.last?.contains("claims_left_out") == false)
        }
    }

    @Test("A draft-07 exchange, its refresh and the repeated refresh succeed")
    func refresh() async throws {
        try await TestBroker.run { broker async throws in
            let first = try #require(try await broker.answer(Requests.currentExchange))
            #expect(first.status == 200)
            let token = try #require(try JSONReader.parse(first.body).object?.string("refresh_token"))
            let second = try #require(try await broker.answer(Requests.refresh(token)))
            #expect(second.status == 200)
            let successor = try JSONReader.parse(second.body).object
            #expect(successor?.contains("issued_token_type") == false)
            #expect(successor?.string("refresh_token") != token)
            let again = try #require(try await broker.answer(Requests.refresh(token)))
            #expect(
                try JSONReader.parse(again.body).object?.string("refresh_token") == successor?.string("refresh_token"))
            #expect(broker.metrics.text.contains("native_sso_redeliveries_total 1\n"))
            // The successor's successor is in use: two parties hold the first token.
            let third = try #require(
                try await broker.answer(Requests.refresh(successor?.string("refresh_token") ?? "")))
            #expect(third.status == 200)
            #expect(try await broker.answer(Requests.refresh(token))?.status == 400)
            #expect(broker.metrics.text.contains("native_sso_grants_revoked_total{by=\"reuse\"} 1\n"))
            #expect(broker.log.requests.allSatisfy { $0.contains("issuer") && $0.contains("session_id") })
        }
    }

    @Test("Unknown parameters are ignored and their values never logged")
    func unknownParameter() async throws {
        try await TestBroker.run { broker async throws in
            let parameters = Requests.exchange + [("foo", "canary-value"), ("Scope", "payments")]
            #expect(try await broker.answer(parameters)?.status == 200)
            #expect(!broker.log.all.contains("canary"))
        }
    }

    @Test("Spoofed proxy headers and request ids are ignored")
    func proxyHeaders() async throws {
        try await TestBroker.run { broker async throws in
            let headers = [
                "X-Forwarded-For: 10.0.0.1", "X-Forwarded-Proto: https", "Forwarded: for=10.0.0.1", "X-Client-Cert: x",
                "X-Request-Id: 00000000-0000-0000-0000-000000000001", "X-Forwarded-Host: evil.example",
            ]
            let answer = try #require(try await broker.answer(Requests.exchange, headers: headers))
            #expect(answer.status == 200)
            #expect(answer.values("x-request-id").first != "00000000-0000-0000-0000-000000000001")
        }
    }

    @Test("A refusal whose answer many reasons share leaves no sooner than 5 ms after its request")
    func leastTimeOfRefusal() async throws {
        try await TestBroker.run { broker async throws in
            let otherDevice = [("actor_token", Optional("another-device-of-somebody-else"))]
            let requests = [
                Requests.changed(Requests.exchange, otherDevice),
                Requests.changed(Requests.currentExchange, otherDevice),
                Requests.changed(Requests.currentExchange, [("scope", "openid payments")]),
                Requests.refresh("nsr1.not-ours"),
            ]
            for parameters in requests {
                let start = ContinuousClock.now
                let answer = try #require(try await broker.answer(parameters))
                #expect(ContinuousClock.now - start >= .milliseconds(5))
                #expect(answer.status == 400)
            }
            let reasons = broker.log.requests.map { $0.string("reason") }
            #expect(
                reasons == [
                    "device_hash_mismatch", "device_hash_mismatch", "consent_required", "refresh_token_not_ours",
                ])
        }
    }

    @Test("An unavailable database gets 503 with Retry-After, not a refusal")
    func outage() async throws {
        try await TestBroker.run { broker async throws in
            let first = try #require(try await broker.answer(Requests.exchange))
            let token = try #require(try JSONReader.parse(first.body).object?.string("refresh_token"))
            broker.domain.registry.fail(with: .outage(Outage(.database, "connection refused")))
            for parameters in [Requests.exchange, Requests.refresh(token)] {
                let answer = try #require(try await broker.answer(parameters))
                #expect(answer.status == 503)
                #expect(answer.values("retry-after") == ["1"])
                #expect(
                    answer.text
                        == #"{"error":"temporarily_unavailable","error_description":"The service is temporarily unavailable."}"#
                )
            }
            broker.domain.directory.fail(with: .outage(Outage(.database, "never loaded")))
            #expect(try await broker.answer(Requests.exchange)?.status == 503)
            #expect(broker.domain.audit.events.isEmpty)
            #expect(broker.log.requests.last?.string("outcome") == "unavailable")
            #expect(broker.log.requests.last?.string("reason") == "database: never loaded")
        }
    }

    @Test("An unavailable key module gets 503")
    func keyModuleOutage() async throws {
        try await TestBroker.run { broker async throws in
            broker.domain.signer.fail(with: .outage(Outage(.keyModule, "no session")))
            #expect(try await broker.answer(Requests.exchange)?.status == 503)
            broker.domain.verifier.answer(.outage)
            #expect(try await broker.answer(Requests.exchange)?.status == 503)
        }
    }

    @Test("A defect gets a 500 without details; the log has them")
    func defect() async throws {
        try await TestBroker.run { broker async throws in
            broker.domain.signer.fail(with: .broken("canary-defect"))
            let answer = try #require(try await broker.answer(Requests.exchange))
            #expect(answer.status == 500)
            #expect(
                answer.text == #"{"error":"server_error","error_description":"The request could not be processed."}"#)
            #expect(broker.log.requests.last?.string("reason") == "canary-defect")
            #expect(broker.log.requests.last?.string("level") == "error")
        }
    }
}
