import BrokerTesting
import HTTPServer
import OAuthWire
import StrictCoding
import Testing

@testable import BrokerHTTP
@testable import NativeSSO

@Suite("POST /revoke", .timeLimit(.minutes(1)))
struct RevocationEndpointTests {
    private static let grant = UniqueID(high: 1, low: 7)
    private static let secret = Base64URL.encode([UInt8](repeating: 9, count: 32))

    private static func post(_ parameters: Requests.Parameters, headers: [String] = []) -> String {
        Requests.post(parameters, headers: headers).replacing("POST /token ", with: "POST /revoke ")
    }

    private static func revoke(_ token: String, _ others: Requests.Parameters = [], client: String = "app-two")
        -> String
    {
        post([("client_id", client), ("token", token)] + others)
    }

    private static func refreshToken(_ broker: TestBroker, _ generation: Int32 = 3) async throws -> String {
        try await RefreshToken(grantID: grant, generation: generation).encoded(by: broker.domain.macKeys).value
    }

    /// Sends a request and expects its end to be reported, and one line in the log.
    private static func expectEnd(_ request: String, at broker: TestBroker) async throws {
        let answer = try #require(try await broker.backchannelAnswer(request))
        #expect(answer.status == 200)
        #expect(answer.text == "{}")
        #expect(answer.values("cache-control") == ["no-store"])
        let line = try #require(broker.log.backchannelRequests.last)
        #expect(line.string("outcome") == "granted")
        #expect(line.string("grant") == "revocation")
        #expect(answer.values("x-request-id") == [line.string("request_id") ?? ""])
    }

    private static func expectRefusal(
        _ request: String, _ reason: String, status: Int = 400, error: String = "invalid_request",
        at broker: TestBroker
    ) async throws {
        let answer = try #require(try await broker.backchannelAnswer(request))
        #expect(answer.status == status)
        #expect(answer.error == error)
        #expect(broker.log.backchannelRequests.last?.string("reason") == reason)
    }

    @Test("A refresh token ends its grant, again and again with the same answer, whatever its generation and the hint")
    func endsAGrant() async throws {
        try await TestBroker.run { broker async throws in
            broker.domain.revocations.put(Self.grant, of: "app-two")
            for (generation, hint) in [
                (3, nil), (3, "refresh_token"), (1, "access_token"), (3, "device_secret"), (3, "x"),
            ] as [(Int32, String?)] {
                let hints = hint.map { [(name: "token_type_hint", value: $0)] } ?? []
                let request = Self.revoke(try await Self.refreshToken(broker, generation), hints)
                try await Self.expectEnd(request, at: broker)
            }
            #expect(
                broker.domain.revocations.calls
                    == Array(repeating: .end(Self.grant, ClientID(validated: "app-two")), count: 5))
            for line in [
                #"native_sso_grants_revoked_total{by="revocation"} 1"#,
                #"native_sso_requests_total{grant="revocation",outcome="granted"} 5"#,
            ] {
                #expect(broker.metrics.text.contains(line + "\n"))
            }
        }
    }

    @Test("Another client's refresh token ends nothing")
    func foreignToken() async throws {
        try await TestBroker.run { broker async throws in
            broker.domain.revocations.put(Self.grant, of: "app-one")
            try await Self.expectRefusal(
                Self.revoke(try await Self.refreshToken(broker)), "revocation_foreign_client", error: "invalid_grant",
                at: broker)
            let event = try #require(broker.domain.audit.events.last)
            #expect(event.reason == "revocation_foreign_client" && event.kind == .requestRefused)
            #expect(event.subject.grant == Self.grant)
            try await Self.expectEnd(Self.revoke(try await Self.refreshToken(broker), client: "app-one"), at: broker)
        }
    }

    @Test("A device_secret signs the device out, at each issuer")
    func signsOut() async throws {
        try await TestBroker.run { broker async throws in
            let app = ClientID(validated: "app-two")
            func digests(_ secret: String) throws -> Set<DeviceDigest> {
                let device = try #require(DeviceValue(secret, profile: .deviceSecret))
                return Set(try Domain.issuers.map { try broker.domain.macKeys.digest(device, at: $0.issuer) })
            }
            broker.domain.revocations.put(sessions: 2)
            try await Self.expectEnd(Self.revoke(Self.secret), at: broker)
            // A secret of another form needs the hint.
            let hint = [("token_type_hint", "device_secret")] as Requests.Parameters
            for token in [Domain.deviceSecret, "eyJhbGciOiJub25lIn0.e30.AA"] {
                try await Self.expectEnd(Self.revoke(token, hint), at: broker)
            }
            #expect(
                broker.domain.revocations.calls
                    == [
                        .signOut(try digests(Self.secret), app, holding: nil),
                        .signOut(try digests(Domain.deviceSecret), app, holding: nil),
                        .signOut(try digests("eyJhbGciOiJub25lIn0.e30.AA"), app, holding: nil),
                    ])
            #expect(broker.metrics.text.contains(#"native_sso_sessions_ended_total{by="revocation"} 2"# + "\n"))
        }
    }

    @Test("A refresh token beside the device_id signs the device out, before its own grant ends")
    func signsOutByDeviceID() async throws {
        try await TestBroker.run { broker async throws in
            broker.domain.revocations.put(Self.grant, of: "app-two")
            let request = Self.revoke(try await Self.refreshToken(broker), [("device_id", Domain.deviceID)])
            try await Self.expectEnd(request, at: broker)
            let device = try #require(DeviceValue(Domain.deviceID, profile: .deviceID))
            let digests = Set(try Domain.issuers.map { try broker.domain.macKeys.digest(device, at: $0.issuer) })
            let app = ClientID(validated: "app-two")
            #expect(
                broker.domain.revocations.calls
                    == [.signOut(digests, app, holding: Self.grant), .end(Self.grant, app)])
            try await Self.expectRefusal(
                Self.revoke(try await Self.refreshToken(broker), [("device_id", "short")]), "device_id_malformed",
                at: broker)
        }
    }

    @Test("What can be nothing of this broker ends nothing, and is no error; an access token or id_token is one")
    func unknown() async throws {
        try await TestBroker.run { broker async throws in
            for token in [
                "x", "nsr1.AAAA", "nsr1." + String(repeating: "A", count: 71), "a.b.c", "\u{7}", "\u{212A}",
            ] {
                try await Self.expectEnd(Self.revoke(token), at: broker)
            }
            try await Self.expectRefusal(
                Self.revoke("eyJhbGciOiJFUzI1NiJ9.e30.c2ln"), "revocation_unsupported_token_type",
                error: "unsupported_token_type", at: broker)
            #expect(broker.domain.revocations.calls.isEmpty)
        }
    }

    @Test("An outage is no answer: 503, and the same request is good afterwards")
    func outage() async throws {
        try await TestBroker.run { broker async throws in
            broker.domain.revocations.put(Self.grant, of: "app-two")
            let requests = [Self.revoke(try await Self.refreshToken(broker)), Self.revoke(Self.secret)]
            broker.domain.revocations.fail(with: .outage(Outage(.database, "away")))
            for request in requests {
                let answer = try #require(try await broker.backchannelAnswer(request))
                #expect(answer.status == 503 && answer.error == "temporarily_unavailable")
                #expect(answer.values("retry-after") == ["1"])
            }
            broker.domain.revocations.fail(with: nil)
            broker.domain.macKeys.fail(with: .outage(Outage(.keyModule, "away")))
            for request in requests { #expect(try await broker.backchannelAnswer(request)?.status == 503) }
            #expect(broker.domain.audit.events.isEmpty)
            broker.domain.macKeys.fail(with: nil)
            for request in requests { try await Self.expectEnd(request, at: broker) }
        }
    }

    @Test("One token is required; no other path is there, and the path is at no other listener")
    func form() async throws {
        try await TestBroker.run { broker async throws in
            for (request, reason, status) in [
                (Self.post([("client_id", "app-two")]), "token_missing", 400),
                (Self.post([("client_id", "app-two"), ("token", "")]), "token_missing", 400),
                (Requests.post("token=x", target: "/token"), "http_unknown_path", 404),
                (Requests.post("token=x", target: "/backchannel-logout"), "http_unknown_path", 404),
                (Requests.get("/metrics"), "http_unknown_path", 404),
            ] {
                try await Self.expectRefusal(request, reason, status: status, at: broker)
            }
            #expect(try await broker.answer(Self.revoke(Self.secret))?.status == 404)
            #expect(try await broker.internalAnswer(Self.revoke(Self.secret))?.status == 404)
            #expect(broker.domain.revocations.calls.isEmpty)
        }
    }

    @Test("A logout that moved is answered on the backchannel listener alone")
    func movedLogout() async throws {
        var options = TestBroker.Options()
        options.movesLogout = true
        try await TestBroker.run(options) { broker async throws in
            let request = Requests.post("logout_token=eyJ.e30.c2ln", target: "/backchannel-logout")
            #expect(try await broker.internalAnswer(request)?.status == 404)
            #expect(broker.domain.logouts.records.isEmpty)
            #expect(try await broker.backchannelAnswer(request)?.status == 200)
            #expect(broker.domain.logouts.records.count == 1)
        }
    }

    @Test("Failed authentications count together with those at the token endpoint")
    func limit() async throws {
        var options = TestBroker.Options()
        options.requestLimits.clientFailures = RateLimit(1, per: .seconds(20))
        options.trustedProxies = TrustedProxies(blocks: [try #require(AddressBlock("127.0.0.1"))])
        try await TestBroker.run(options) { broker async throws in
            let headers = [Requests.basic("server:wrong"), "X-Forwarded-For: 192.0.2.7"]
            let exchange = Requests.exchange.filter { $0.name != "client_id" }
            let refused = try #require(try await broker.answer(exchange, headers: headers))
            #expect(refused.status == 401)
            #expect(refused.values("www-authenticate") == [#"Basic realm="native-sso", charset="UTF-8""#])
            let answer = try #require(
                try await broker.backchannelAnswer(Self.post([("token", "x")], headers: headers)))
            #expect(answer.status == 429)
            #expect(answer.values("retry-after") == ["20"])
        }
    }
}
