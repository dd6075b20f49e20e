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

    private struct Bend: Sendable {
        let name: String
        var caller = "api"
        let token: @Sendable (JSONObject) throws -> String

        static func claim(_ name: String, _ value: JSONValue?) -> Bend {
            Bend(name: name) { claims in
                var claims = claims
                claims[name] = value
                return try IntrospectionEndpointTests.token(claims)
            }
        }
    }

    private static let bends: [Bend] = [
        .claim("iss", .string("https://idp.example.com")), .claim("aud", .string("https://other.example.com")),
        .claim("aud", nil), .claim("exp", .number(JSONNumber(1))), .claim("exp", nil), .claim("iat", nil),
        .claim("session_id", nil), .claim("session_id", .string("S1")), .claim("client_id", nil),
        Bend(name: "an id_token") { try token($0, type: "JWT") },
        Bend(name: "no typ") { try token($0, type: nil) },
        Bend(name: "another key") { try token($0, key: TestKey(.es256, keyID: "x")) },
        Bend(name: "a refresh token") { _ in "nsr1." + String(repeating: "A", count: 71) },
        Bend(name: "no token at all") { _ in "x" },
        Bend(name: "a client for no API", caller: "server") { try token($0) },
    ]

    @Test("Everything else is inactive, and the caller does not learn why")
    func inactive() async throws {
        try await TestBroker.run { broker async throws in
            let claims = try Self.claims(broker)
            for bend in Self.bends {
                let answer = try await Self.ask(try bend.token(claims), as: bend.caller, at: broker)
                #expect(answer.status == 200 && answer.text == Self.inactive, "\(bend.name)")
            }
            // A public client learns nothing, whatever it is registered for.
            let request = Requests.post([("client_id", "public-api"), ("token", try Self.token(claims))])
                .replacing("POST /token ", with: "POST /introspect ")
            #expect(try await broker.backchannelAnswer(request)?.text == Self.inactive)
            #expect(broker.domain.revocations.calls.isEmpty)
            // Its session or grant is over.
            broker.domain.revocations.setLive(false)
            let dead = try await Self.ask(try Self.token(claims), at: broker)
            #expect(dead.status == 200 && dead.text == Self.inactive)
            #expect(broker.domain.revocations.calls.count == 1)
        }
    }

    @Test("An outage is a 503 and never inactive")
    func outage() async throws {
        try await TestBroker.run { broker async throws in
            broker.domain.revocations.fail(with: .outage(Outage(.database, "away")))
            let answer = try await Self.ask(try Self.token(try Self.claims(broker)), at: broker)
            #expect(answer.status == 503 && answer.error == "temporarily_unavailable")
        }
    }
}
