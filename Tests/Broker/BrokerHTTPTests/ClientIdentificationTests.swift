@testable import BrokerHTTP
import BrokerTesting
import NativeSSO
import OAuthWire
import StrictCoding
import RegistryConformance
import Testing

@Suite("Client identification and authentication", .timeLimit(.minutes(1)))
struct ClientIdentificationTests {
    private static let challenge = "Basic realm=\"native-sso\", charset=\"UTF-8\""
    private static let assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let client: [(String, String?)]
        let headers: [String]
        let status: Int
        let error: String
        let reason: String
        /// As the log names it.
        let clientID: String

        init(
            _ title: String, client: [(String, String?)] = [("client_id", nil)], headers: [String] = [], _ status: Int,
            error: String = "invalid_client", _ reason: String, clientID: String = "unknown"
        ) {
            (testDescription, self.client, self.headers) = (title, client, headers)
            (self.status, self.error, self.reason, self.clientID) = (status, error, reason, clientID)
        }
    }

    static let rows: [Row] = [
        Row("C-01 nothing", 400, "client_missing"),
        Row("C-02 unknown", client: [("client_id", "nope")], 400, "client_unknown"),
        Row("C-02 unknown, Basic", headers: [Requests.basic("nope:")], 401, "client_unknown"),
        Row("C-02 disabled", client: [("client_id", "app-disabled")], 400, "client_disabled", clientID: "app-disabled"),
        Row(
            "C-02 disabled, Basic", headers: [Requests.basic("app-disabled:")], 401, "client_disabled",
            clientID: "app-disabled"),
        Row(
            "C-04 grant not allowed", client: [("client_id", "app-refresh-only")], 400, error: "unauthorized_client",
            "grant_not_allowed", clientID: "app-refresh-only"),
        Row(
            "C-05 public client sends a secret", client: [("client_id", "app-two"), ("client_secret", "x")], 400,
            "client_secret_post"),
        Row(
            "public client, Basic with a password", headers: [Requests.basic("app-two:x")], 401,
            "client_method_mismatch", clientID: "app-two"),
        Row(
            "confidential client by client_id alone", client: [("client_id", "server")], 400, "client_method_mismatch",
            clientID: "server"),
        Row(
            "confidential client, Basic with an empty password", headers: [Requests.basic("server:")], 401,
            "client_method_mismatch", clientID: "server"),
        Row(
            "C-05 a wrong secret", headers: [Requests.basic("server:secret")], 401, "client_authentication_failed",
            clientID: "server"),
        Row("an unknown client with a secret", headers: [Requests.basic("nope:secret")], 401, "client_unknown"),
        Row(
            "a client of private_key_jwt with a secret", headers: [Requests.basic("signer:secret")], 401,
            "client_method_mismatch", clientID: "signer"),
        Row(
            "a client of private_key_jwt by client_id alone", client: [("client_id", "signer")], 400,
            "client_method_mismatch", clientID: "signer"),
        Row(
            "client_secret_post of a confidential client",
            client: [("client_id", "server"), ("client_secret", "right")], 400, "client_secret_post"),
        Row(
            "C-08 Basic and client_secret", client: [("client_id", nil), ("client_secret", "x")],
            headers: [Requests.basic("app-two:")], 400, error: "invalid_request", "client_several_mechanisms"),
        Row(
            "C-08 Basic and assertion", client: [("client_id", nil), ("client_assertion", "x")],
            headers: [Requests.basic("app-two:")], 400, error: "invalid_request", "client_several_mechanisms"),
        Row(
            "C-08 secret and assertion",
            client: [("client_secret", "x"), ("client_assertion", "x"), ("client_assertion_type", assertionType)], 400,
            error: "invalid_request", "client_several_mechanisms"),
        Row(
            "C-08 two Authorization headers", headers: [Requests.basic("app-two:"), Requests.basic("app-two:")], 400,
            error: "invalid_request", "http_authorization_repeated"),
        Row(
            "C-09 two identifiers", client: [("client_id", "app-one")], headers: [Requests.basic("app-two:")], 400,
            error: "invalid_request", "client_id_mismatch"),
        Row("C-11 Basic decoded once only", headers: [Requests.basic("app%252Dtwo:")], 401, "client_unknown"),
        Row("C-11 Basic with %3A and +", headers: [Requests.basic("app%3Atwo+x:")], 401, "client_unknown"),
        Row("C-12 Bearer", headers: ["Authorization: Bearer eyJ.e30.x"], 401, "client_scheme_unknown"),
        Row("DPoP as a scheme", headers: ["Authorization: DPoP eyJ.e30.x"], 401, "client_scheme_unknown"),
        Row("Basic without a colon", headers: [Requests.basic("app-two")], 401, "client_basic_malformed"),
        Row("Basic that is not base64", headers: ["Authorization: Basic app-two:"], 401, "client_basic_malformed"),
        Row("empty Authorization", headers: ["Authorization:"], 401, "client_scheme_unknown"),
        Row(
            "C-15 wrong assertion type", client: [("client_assertion", "x"), ("client_assertion_type", "saml")], 400,
            "client_assertion_incomplete"),
        Row("assertion without its type", client: [("client_assertion", "x")], 400, "client_assertion_incomplete"),
        Row(
            "type without its assertion", client: [("client_assertion_type", assertionType)], 400,
            "client_assertion_incomplete"),
        Row(
            "an assertion that is none, and no client_id",
            client: [("client_id", nil), ("client_assertion", "x"), ("client_assertion_type", assertionType)], 400,
            "client_assertion_malformed"),
        Row(
            "an assertion of a client of client_secret_basic",
            client: [("client_id", "server"), ("client_assertion", "x"), ("client_assertion_type", assertionType)], 400,
            "client_method_mismatch", clientID: "server"),
        Row("F-18 SQL", client: [("client_id", "';select pg_sleep(9)-- ")], 400, "client_unknown"),
        Row("F-18 format", client: [("client_id", "%n%s")], 400, "client_unknown"),
        Row("F-18 path", client: [("client_id", "../../etc/passwd")], 400, "client_unknown"),
        Row("F-18 lookup", client: [("client_id", "${jndi:ldap://x/\u{2026}}")], 400, "client_unknown"),
        Row(
            "an identifier that only looks the same", client: [("client_id", "app-t\u{1D430}o")], 400,
            "client_unknown"),
    ]

    @Test("Each failed identification is refused for its reason", arguments: rows)
    func refused(row: Row) async throws {
        try await TestBroker.run { broker async throws in
            let parameters = Requests.changed(Requests.exchange, row.client)
            let answer = try #require(try await broker.answer(parameters, headers: row.headers))
            #expect(answer.status == row.status)
            #expect(answer.error == row.error)
            #expect(answer.values("www-authenticate") == (row.status == 401 ? [Self.challenge] : []))
            let line = try #require(broker.log.requests.last)
            #expect(line.string("reason") == row.reason)
            #expect(line.string("client_id") == row.clientID)
            #expect(line.string("level") == "notice")
            let event = try #require(broker.domain.audit.events.last)
            #expect(event.kind == .requestRefused)
            #expect(event.reason == row.reason)
            #expect(event.client?.string ?? "unknown" == row.clientID)
            #expect(answer.values("x-request-id") == [event.requestID.description])
            #expect(broker.domain.registry.admissions.isEmpty)
        }
    }

    @Test("Unknown, disabled and unauthenticated clients get the same octets")
    func sameAnswer() async throws {
        try await TestBroker.run { broker async throws in
            var bodies = Set<String>()
            for client in ["nope", "app-disabled", "server"] {
                let parameters = Requests.changed(Requests.exchange, [("client_id", client)])
                bodies.insert(try await broker.answer(parameters)?.text ?? "no answer")
            }
            #expect(bodies == [#"{"error":"invalid_client","error_description":"Client authentication failed."}"#])
        }
    }

    @Test("A public client may name itself in the header, the body, or both alike")
    func bothPlaces() async throws {
        try await TestBroker.run { broker async throws in
            for header in [Requests.basic("app-two:"), Requests.basic("app-two:").replacing("Basic", with: "bASIC")] {
                #expect(try await broker.answer(Requests.exchange, headers: [header])?.status == 200)
            }
        }
    }

    @Test("A secret and its successor authenticate only their own client")
    func secrets() async throws {
        try await TestBroker.run { broker async throws in
            let server = ClientID(validated: "server")
            broker.domain.directory.put(Self.secrets("old"), of: server)
            let parameters = Requests.changed(Requests.exchange, [("client_id", nil)])
            func status(_ credentials: String) async throws -> Int? {
                try await broker.answer(parameters, headers: [Requests.basic(credentials)])?.status
            }
            #expect(try await status("server:old") == 200)
            broker.domain.directory.put(Self.secrets("old", "new"), of: server)
            #expect(try await status("server:old") == 200)
            #expect(try await status("server:new") == 200)
            // RFC 6749 §2.3.1: form-encoded, so another encoding of the octets is the same secret.
            #expect(try await status("server:n%65w") == 200)
            #expect(try await status("server:New") == 401)
            broker.domain.directory.put(Self.secrets("new"), of: server)
            #expect(try await status("server:old") == 401)
            #expect(broker.log.requests.last?.string("reason") == "client_authentication_failed")
            // The secret is right, but this client is registered as public.
            #expect(try await status("app-two:new") == 401)
            #expect(broker.log.requests.last?.string("reason") == "client_method_mismatch")
            #expect(!broker.log.all.contains("new"))
        }
    }

    @Test("No secret authenticates a client that has none yet")
    func noSecret() async throws {
        try await TestBroker.run { broker async throws in
            let parameters = Requests.changed(Requests.exchange, [("client_id", nil)])
            for secret in ["x", "%00", "+", "%20"] {
                #expect(
                    try await broker.answer(parameters, headers: [Requests.basic("server:" + secret)])?.status == 401)
            }
        }
    }

    @Test("Every failed client authentication gets the same answer")
    func sameRefusal() async throws {
        try await TestBroker.run { broker async throws in
            broker.domain.directory.put(Self.secrets("right"), of: ClientID(validated: "server"))
            let parameters = Requests.changed(Requests.exchange, [("client_id", nil)])
            var answers = Set<String>()
            for credentials in ["server:wrong", "nope:x", "app-two:x", "signer:x", "app-disabled:x", "server:"] {
                let answer = try #require(
                    try await broker.answer(parameters, headers: [Requests.basic(credentials)]))
                answers.insert("\(answer.status) \(answer.values("www-authenticate")) \(answer.text)")
            }
            #expect(answers.count == 1)
        }
    }

    @Test("Unreadable registered secrets are an outage, not a refusal")
    func outage() async throws {
        try await TestBroker.run { broker async throws in
            broker.domain.directory.fail(with: .outage(Outage(.database, "gone")))
            let parameters = Requests.changed(Requests.exchange, [("client_id", nil)])
            #expect(try await broker.answer(parameters, headers: [Requests.basic("server:right")])?.status == 503)
        }
    }

    private static func secrets(_ texts: String...) -> ClientCredentials {
        ClientCredentials(secrets: texts.map(ClientSecretDigest.init(of:)))
    }
}
