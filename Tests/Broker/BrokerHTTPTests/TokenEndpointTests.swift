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

            // The abuse catalogue has the fields that every answer has.
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

    @Test("Log and metrics tell a refresh, its repetition and its reuse apart")
    func refresh() async throws {
        try await TestBroker.run { broker async throws in
            func refreshToken(_ parameters: Requests.Parameters) async throws -> String {
                let answer = try #require(try await broker.answer(parameters))
                return try #require(try JSONReader.parse(answer.body).object?.string("refresh_token"))
            }
            let first = try await refreshToken(Requests.currentExchange)
            let second = try await refreshToken(Requests.refresh(first))
            #expect(try await refreshToken(Requests.refresh(first)) == second)
            #expect(broker.metrics.text.contains("native_sso_redeliveries_total 1\n"))
            // Once the successor's successor is in use, two parties hold the first token.
            #expect(try await refreshToken(Requests.refresh(second)) != second)
            #expect(try await broker.answer(Requests.refresh(first))?.status == 400)
            #expect(broker.metrics.text.contains("native_sso_grants_revoked_total{by=\"reuse\"} 1\n"))
            #expect(broker.log.requests.allSatisfy { $0.contains("issuer") && $0.contains("session_id") })
        }
    }

    @Test("No log line, audit event or metric contains what a caller wrote, for any outcome")
    func canary() async throws {
        let canary = "canarycanarycanarycanary"
        try await TestBroker.run { broker async throws in
            for name in [
                "subject_token", "actor_token", "client_id", "scope", "audience", "subject_token_type", "foo", canary,
            ] {
                let long = String(repeating: "a", count: 20_000) + canary
                for value in [canary, "\(canary)\u{0}", "\(canary)\"", long] {
                    let answer = try await broker.answer(Requests.changed(Requests.exchange, [(name, value)]))
                    #expect(answer != nil, "\(name)")
                }
            }
            for header in [
                "Authorization: Bearer \(canary)", "Authorization: Basic \(canary)", Requests.basic("\(canary):x"),
            ] {
                #expect(try await broker.answer(Requests.exchange, headers: [header]) != nil, "\(header)")
            }
            let elsewhere = Requests.post("x", target: "/\(canary)?\(canary)")
            #expect(try await broker.answer(elsewhere)?.status == 404)
            #expect(try await broker.answer("\(canary) / HTTP/1.1\r\n\r\n") != nil)
            #expect(!broker.log.all.contains("canary"))
            #expect(!broker.domain.audit.events.contains { "\($0)".contains("canary") })
            #expect(!broker.metrics.text.contains("canary"))
        }
    }

    @Test("U-10 draft 07 answers with the authorization request, except what the app must add")
    func whereToLogIn() async throws {
        var options = TestBroker.Options()
        let endpoint = "https://login.example.com/authorize?tenant=7"
        options.authorizationEndpoint = endpoint
        try await TestBroker.run(options) { broker async throws in
            func answer(_ scope: String?, of client: String) async throws -> RawAnswer {
                let parameters = Requests.changed(
                    Requests.currentExchange, [("client_id", client), ("scope", scope)])
                return try #require(try await broker.answer(parameters))
            }
            let refusal =
                #"{"error":"interaction_required","error_description":"The user must log in through this client.","#
            for (scope, asked) in [
                (nil, "openid+profile"), ("openid device_sso profile", "openid+device_sso+profile"),
                // The exchange's default scope.
                ("device_sso", "openid+profile+device_sso"),
            ] as [(String?, String)] {
                #expect(
                    try await answer(scope, of: "demanding").text
                        == refusal + #""acr_values":"urn:example:loa3","max_age":600,"authorization_uri":"\#(endpoint)"#
                        + #"&response_type=code&client_id=demanding&scope=\#(asked)"#
                        + #"&acr_values=urn%3Aexample%3Aloa3&max_age=600"}"#)
            }
            // Only consent is missing.
            #expect(
                try await answer("openid payments", of: "app-two").text
                    == refusal + #""authorization_uri":"\#(endpoint)"#
                    + #"&response_type=code&client_id=app-two&scope=openid+payments"}"#)
            // A refusal that a login would not help has no URL.
            #expect(try await !answer("openid admin", of: "app-two").text.contains("authorize"))
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

    @Test("Before the clients are loaded, each gets 503, and no secret counts as wrong")
    func outage() async throws {
        try await TestBroker.run { broker async throws in
            broker.domain.directory.fail(with: .outage(Outage(.database, "never loaded")))
            let confidential = Requests.changed(Requests.exchange, [("client_id", nil)])
            for (parameters, headers) in [
                (Requests.exchange, []), (confidential, [Requests.basic("server:right")]),
            ] as [(Requests.Parameters, [String])] {
                let answer = try #require(try await broker.answer(parameters, headers: headers))
                #expect(answer.status == 503 && answer.error == "temporarily_unavailable")
                #expect(answer.values("retry-after") == ["1"])
            }
            #expect(broker.domain.audit.events.isEmpty)
            #expect(broker.log.requests.last?.string("outcome") == "unavailable")
            #expect(broker.log.requests.last?.string("reason") == "database: never loaded")
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
