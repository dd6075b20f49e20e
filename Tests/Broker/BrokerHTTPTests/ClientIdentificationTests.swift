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
        let title: String
        var client: [(String, String?)] = [("client_id", nil)]
        var headers: [String] = []
        let status: Int
        let error: String
        let reason: String
        /// As the log names it.
        var clientID = "unknown"
        var testDescription: String { title }
    }

    static let rows: [Row] = [
        Row(title: "C-01 nothing", status: 400, error: "invalid_client", reason: "client_missing"),
        Row(
            title: "C-02 unknown", client: [("client_id", "nope")], status: 400, error: "invalid_client",
            reason: "client_unknown"),
        Row(
            title: "C-02 unknown, Basic", headers: [Requests.basic("nope:")], status: 401, error: "invalid_client",
            reason: "client_unknown"),
        Row(
            title: "C-02 disabled", client: [("client_id", "app-disabled")], status: 400, error: "invalid_client",
            reason: "client_disabled", clientID: "app-disabled"),
        Row(
            title: "C-02 disabled, Basic", headers: [Requests.basic("app-disabled:")], status: 401,
            error: "invalid_client", reason: "client_disabled", clientID: "app-disabled"),
        Row(
            title: "C-04 grant not allowed", client: [("client_id", "app-refresh-only")], status: 400,
            error: "unauthorized_client", reason: "grant_not_allowed", clientID: "app-refresh-only"),
        Row(
            title: "C-05 public client sends a secret", client: [("client_id", "app-two"), ("client_secret", "x")],
            status: 400, error: "invalid_client", reason: "client_secret_post"),
        Row(
            title: "public client, Basic with a password", headers: [Requests.basic("app-two:x")], status: 401,
            error: "invalid_client", reason: "client_method_mismatch", clientID: "app-two"),
        Row(
            title: "confidential client by client_id alone", client: [("client_id", "server")], status: 400,
            error: "invalid_client", reason: "client_method_mismatch", clientID: "server"),
        Row(
            title: "confidential client, Basic with an empty password", headers: [Requests.basic("server:")],
            status: 401, error: "invalid_client", reason: "client_method_mismatch", clientID: "server"),
        Row(
            title: "C-05 a wrong secret", headers: [Requests.basic("server:secret")], status: 401,
            error: "invalid_client", reason: "client_authentication_failed", clientID: "server"),
        Row(
            title: "an unknown client with a secret", headers: [Requests.basic("nope:secret")], status: 401,
            error: "invalid_client", reason: "client_unknown"),
        Row(
            title: "a client of private_key_jwt with a secret", headers: [Requests.basic("signer:secret")], status: 401,
            error: "invalid_client", reason: "client_method_mismatch", clientID: "signer"),
        Row(
            title: "a client of private_key_jwt by client_id alone", client: [("client_id", "signer")], status: 400,
            error: "invalid_client", reason: "client_method_mismatch", clientID: "signer"),
        Row(
            title: "client_secret_post of a confidential client",
            client: [("client_id", "server"), ("client_secret", "right")], status: 400, error: "invalid_client",
            reason: "client_secret_post"),
        Row(
            title: "C-08 Basic and client_secret", client: [("client_id", nil), ("client_secret", "x")],
            headers: [Requests.basic("app-two:")], status: 400, error: "invalid_request",
            reason: "client_several_mechanisms"),
        Row(
            title: "C-08 Basic and assertion", client: [("client_id", nil), ("client_assertion", "x")],
            headers: [Requests.basic("app-two:")], status: 400, error: "invalid_request",
            reason: "client_several_mechanisms"),
        Row(
            title: "C-08 secret and assertion",
            client: [("client_secret", "x"), ("client_assertion", "x"), ("client_assertion_type", assertionType)],
            status: 400, error: "invalid_request", reason: "client_several_mechanisms"),
        Row(
            title: "C-08 two Authorization headers", headers: [Requests.basic("app-two:"), Requests.basic("app-two:")],
            status: 400, error: "invalid_request", reason: "http_authorization_repeated"),
        Row(
            title: "C-09 two identifiers", client: [("client_id", "app-one")], headers: [Requests.basic("app-two:")],
            status: 400, error: "invalid_request", reason: "client_id_mismatch"),
        Row(
            title: "C-11 Basic decoded once only", headers: [Requests.basic("app%252Dtwo:")], status: 401,
            error: "invalid_client", reason: "client_unknown"),
        Row(
            title: "C-11 Basic with %3A and +", headers: [Requests.basic("app%3Atwo+x:")], status: 401,
            error: "invalid_client", reason: "client_unknown"),
        Row(
            title: "C-12 Bearer", headers: ["Authorization: Bearer eyJ.e30.x"], status: 401, error: "invalid_client",
            reason: "client_scheme_unknown"),
        Row(
            title: "DPoP as a scheme", headers: ["Authorization: DPoP eyJ.e30.x"], status: 401, error: "invalid_client",
            reason: "client_scheme_unknown"),
        Row(
            title: "Basic without a colon", headers: [Requests.basic("app-two")], status: 401, error: "invalid_client",
            reason: "client_basic_malformed"),
        Row(
            title: "Basic that is not base64", headers: ["Authorization: Basic app-two:"], status: 401,
            error: "invalid_client", reason: "client_basic_malformed"),
        Row(
            title: "empty Authorization", headers: ["Authorization:"], status: 401, error: "invalid_client",
            reason: "client_scheme_unknown"),
        Row(
            title: "C-15 wrong assertion type", client: [("client_assertion", "x"), ("client_assertion_type", "saml")],
            status: 400, error: "invalid_client", reason: "client_assertion_incomplete"),
        Row(
            title: "assertion without its type", client: [("client_assertion", "x")], status: 400,
            error: "invalid_client", reason: "client_assertion_incomplete"),
        Row(
            title: "type without its assertion", client: [("client_assertion_type", assertionType)], status: 400,
            error: "invalid_client", reason: "client_assertion_incomplete"),
        Row(
            title: "an assertion that is none, and no client_id",
            client: [("client_id", nil), ("client_assertion", "x"), ("client_assertion_type", assertionType)],
            status: 400, error: "invalid_client", reason: "client_assertion_malformed"),
        Row(
            title: "an assertion of a client of client_secret_basic",
            client: [
                ("client_id", "server"), ("client_assertion", "x"), ("client_assertion_type", assertionType),
            ], status: 400, error: "invalid_client", reason: "client_method_mismatch", clientID: "server"),
        Row(
            title: "F-18 SQL", client: [("client_id", "';select pg_sleep(9)-- ")], status: 400, error: "invalid_client",
            reason: "client_unknown"),
        Row(
            title: "F-18 format", client: [("client_id", "%n%s")], status: 400, error: "invalid_client",
            reason: "client_unknown"),
        Row(
            title: "F-18 path", client: [("client_id", "../../etc/passwd")], status: 400, error: "invalid_client",
            reason: "client_unknown"),
        Row(
            title: "F-18 lookup", client: [("client_id", "${jndi:ldap://x/\u{2026}}")], status: 400,
            error: "invalid_client", reason: "client_unknown"),
        Row(
            title: "an identifier that only looks the same", client: [("client_id", "app-t\u{1D430}o")], status: 400,
            error: "invalid_client", reason: "client_unknown"),
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
