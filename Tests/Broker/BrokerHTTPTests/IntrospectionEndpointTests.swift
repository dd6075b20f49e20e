import BrokerTesting
import JOSE
import NativeSSO
import StrictCoding
import Testing

@testable import BrokerHTTP

@Suite("POST /introspect", .timeLimit(.minutes(1)))
struct IntrospectionEndpointTests {
    private static let session = UniqueID(high: 1, low: 9)
    private static let inactive = #"{"active":false}"#
    private static let secret = "the secret of the API"

    private static let claims = #"""
        {"iss":"https://sso.example.com","sub":"user","aud":["https://other.example.com","https://api.example.com"],
        "client_id":"app-two","iat":IAT,"nbf":IAT,"exp":EXP,"jti":"J","scope":"openid","session_id":"SESSION",
        "active":false,"token_type":"x"}
        """#

    private static func claims(_ broker: TestBroker) throws -> JSONObject {
        let now = broker.domain.clock.now.seconds
        let text = claims.replacing("IAT", with: "\(now - 10)").replacing("EXP", with: "\(now + 290)")
            .replacing("SESSION", with: session.description)
        return try #require(try JSONReader.parse(Array(text.utf8)).object)
    }

    private static func token(
        _ claims: JSONObject, type: String? = "at+jwt", key: TestKey? = nil
    ) throws -> String {
        try (key ?? TestKey.shared(.es256)).sign(claims: claims, type: type)
    }

    private static func ask(
        _ token: String, as client: String = "api", at broker: TestBroker
    ) async throws -> RawAnswer {
        broker.domain.directory.put(
            ClientCredentials(secrets: [ClientSecretDigest(of: secret)]), of: ClientID(validated: client))
        let request = Requests.post([("token", token)], headers: [Requests.basic("\(client):\(secret)")])
            .replacing("POST /token ", with: "POST /introspect ")
        return try #require(try await broker.backchannelAnswer(request))
    }

    @Test("A live token is active, with the claims that the caller finds in it")
    func active() async throws {
        try await TestBroker.run { broker async throws in
            var claims = try Self.claims(broker)
            let answer = try await Self.ask(try Self.token(claims), at: broker)
            #expect(answer.status == 200)
            #expect(answer.values("cache-control") == ["no-store"])
            let json = try #require(try JSONReader.parse(Array(answer.text.utf8)).object)
            #expect(json["active"] == .bool(true))
            #expect(json.string("token_type") == "Bearer")
            for name in ["iss", "sub", "aud", "client_id", "iat", "nbf", "exp", "jti", "scope", "session_id"] {
                #expect(json[name] == claims[name], "\(name)")
            }
            #expect(
                broker.domain.revocations.calls == [.isLive(Self.session, ClientID(validated: "app-two"))])
            #expect(broker.log.backchannelRequests.last?.string("grant") == "introspection")

            claims["cnf"] = try JSONReader.parse(Array(#"{"jkt":"K"}"#.utf8))
            let bound = try await Self.ask(try Self.token(claims), at: broker)
            #expect(try JSONReader.parse(Array(bound.text.utf8)).object?.string("token_type") == "DPoP")
        }
    }

    struct Bend: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var caller = "api"
        let token: @Sendable (JSONObject) throws -> String

        static func claim(_ name: String, _ value: JSONValue?) -> Bend {
            Bend(testDescription: name) { claims in
                var claims = claims
                claims[name] = value
                return try IntrospectionEndpointTests.token(claims)
            }
        }
    }

    @Test(
        "Everything else is inactive, and the caller does not learn why",
        arguments: [
            .claim("iss", .string("https://idp.example.com")), .claim("aud", .string("https://other.example.com")),
            .claim("aud", nil), .claim("exp", .number(JSONNumber(1))), .claim("exp", nil), .claim("iat", nil),
            .claim("session_id", nil), .claim("session_id", .string("S1")), .claim("client_id", nil),
            Bend(testDescription: "an id_token") { try IntrospectionEndpointTests.token($0, type: "JWT") },
            Bend(testDescription: "no typ") { try IntrospectionEndpointTests.token($0, type: nil) },
            Bend(testDescription: "another key") {
                try IntrospectionEndpointTests.token($0, key: TestKey(.es256, keyID: "x"))
            },
            Bend(testDescription: "a refresh token") { _ in "nsr1." + String(repeating: "A", count: 71) },
            Bend(testDescription: "no token at all") { _ in "x" },
            Bend(testDescription: "a client for no API", caller: "server") {
                try IntrospectionEndpointTests.token($0)
            },
        ] as [Bend])
    func inactive(_ bend: Bend) async throws {
        try await TestBroker.run { broker async throws in
            let answer = try await Self.ask(
                try bend.token(try Self.claims(broker)), as: bend.caller, at: broker)
            #expect(answer.status == 200 && answer.text == Self.inactive)
            #expect(broker.domain.revocations.calls.isEmpty)
        }
    }

    @Test("A token whose session or grant is over is inactive")
    func dead() async throws {
        try await TestBroker.run { broker async throws in
            broker.domain.revocations.setLive(false)
            let answer = try await Self.ask(try Self.token(try Self.claims(broker)), at: broker)
            #expect(answer.status == 200 && answer.text == Self.inactive)
        }
    }

    @Test("A public client learns nothing, whatever it is registered for")
    func publicClient() async throws {
        try await TestBroker.run { broker async throws in
            let token = try Self.token(try Self.claims(broker))
            let request = Requests.post([("client_id", "public-api"), ("token", token)])
                .replacing("POST /token ", with: "POST /introspect ")
            #expect(try await broker.backchannelAnswer(request)?.text == Self.inactive)
            #expect(broker.domain.revocations.calls.isEmpty)
        }
    }

    @Test("An outage is a 503 and never inactive; who does not authenticate is refused")
    func failures() async throws {
        try await TestBroker.run { broker async throws in
            broker.domain.revocations.fail(with: .outage(Outage(.database, "away")))
            let answer = try await Self.ask(try Self.token(try Self.claims(broker)), at: broker)
            #expect(answer.status == 503 && answer.error == "temporarily_unavailable")
            let request = Requests.post([("token", "x")], headers: [Requests.basic("api:wrong")])
                .replacing("POST /token ", with: "POST /introspect ")
            let refused = try #require(try await broker.backchannelAnswer(request))
            #expect(refused.status == 401 && refused.error == "invalid_client")
        }
    }
}
