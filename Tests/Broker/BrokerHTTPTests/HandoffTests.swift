import BrokerHTTP
import BrokerTesting
import JOSE
import NativeSSO
import RegistryConformance
import StrictCoding
import Testing

@Suite("The hand-off to a web app, over a real socket", .timeLimit(.minutes(1)))
struct HandoffTests {
    private static let verifier = "the-verifier-that-the-web-app-keeps-for-the-browser"
    private static let origin = "https://web.example.com"
    private static let secret = "a secret of the web app"
    private static let web = ClientID(validated: "server")
    private static let basic = Requests.basic("server:" + secret.replacing(" ", with: "+"))

    private static func make(_ changes: [(String, String?)] = []) throws -> Requests.Parameters {
        let challenge = Base64URL.encode(try #require(HandoffChallenge(of: verifier)).digest)
        return Requests.changed(
            Requests.currentExchange,
            [
                ("requested_token_type", "urn:x-native-sso:params:token-type:web-handoff"),
                ("handoff_client", web.string), ("handoff_origin", origin), ("handoff_challenge", challenge),
            ] + changes)
    }

    private static func redeem(_ code: String, _ changes: [(String, String?)] = []) -> Requests.Parameters {
        Requests.changed(
            [
                ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"), ("subject_token", code),
                ("subject_token_type", "urn:x-native-sso:params:token-type:web-handoff"), ("handoff_origin", origin),
                ("handoff_verifier", verifier),
            ], changes)
    }

    /// Lets `app-two` hand off, and `server` receive.
    private static func allow(_ domain: Domain) {
        domain.directory.put(
            ClientCredentials(secrets: [ClientSecretDigest(of: secret)]), of: web)
        func put(_ client: String, _ membership: Membership) {
            domain.registry.put(
                MemberRow(issuer: Domain.issuer, client: ClientID(validated: client), membership: membership))
        }
        let group = GroupID(validated: "suite")
        put("app-two", Membership(group: group, role: .target, handoff: .bearer))
        put(web.string, Membership(group: group, role: .target, handoffOrigins: [WebOrigin(validated: origin)]))
    }

    private static func code(_ broker: TestBroker) async throws -> String {
        let answer = try #require(try await broker.answer(try make()))
        #expect(answer.status == 200, "\(answer)")
        return try #require(try JSONReader.parse(answer.body).object?.string("access_token"))
    }

    @Test("An app gets a code, and the web app an access token and an id_token of the same session, once")
    func handOff() async throws {
        try await TestBroker.run { broker async throws in
            Self.allow(broker.domain)
            let made = try #require(try await broker.answer(try Self.make()))
            #expect(made.statusLine == "HTTP/1.1 200 OK")
            let body = try #require(try JSONReader.parse(made.body).object)
            #expect(body.names == ["access_token", "issued_token_type", "token_type", "expires_in", "scope"])
            #expect(body.string("issued_token_type") == "urn:x-native-sso:params:token-type:web-handoff")
            #expect(body.string("token_type") == "N_A")
            #expect(body.number("expires_in")?.int64 == 60)
            #expect(body.string("scope") == "openid profile")
            let code = try #require(body.string("access_token"))
            #expect(code.hasPrefix("nsh1.") && code.utf8.count == 48)

            let answer = try #require(try await broker.answer(Self.redeem(code), headers: [Self.basic]))
            #expect(answer.statusLine == "HTTP/1.1 200 OK")
            let tokens = try #require(try JSONReader.parse(answer.body).object)
            #expect(
                tokens.names == [
                    "access_token", "issued_token_type", "token_type", "expires_in", "scope", "id_token",
                ])
            let access = try #require(UnverifiedJWS(tokens.string("access_token") ?? "")).claims
            #expect(access.string("client_id") == Self.web.string)
            #expect(access.string("sub") == Domain.subject.string)
            #expect(access.string("session_id") == Domain.sessionRow.description)
            let idToken = try #require(UnverifiedJWS(tokens.string("id_token") ?? "")).claims
            #expect(idToken.string("aud") == Self.web.string)
            #expect(idToken.string("sid") == Domain.sessionRow.description)
            #expect(!idToken.contains("ds_hash") && !idToken.contains("device_sso"))

            let again = try #require(try await broker.answer(Self.redeem(code), headers: [Self.basic]))
            #expect(again.status == 400)
            #expect(broker.domain.audit.events.map(\.reason) == ["handoff_code_used"])
            #expect(broker.domain.audit.events.map(\.kind) == [.handoffRefused])
            let grants = broker.log.requests.map { $0.string("grant") }
            #expect(grants == ["handoff", "handoff_redemption", "handoff_redemption"])
        }
    }

    @Test("A login that is too weak for the web app sends the user to the browser with what the web app demands")
    func tooWeak() async throws {
        try await TestBroker.run { broker async throws in
            Self.allow(broker.domain)
            broker.domain.directory.put(
                Domain.client(
                    Self.web.string, authentication: .clientSecretBasic, contextClasses: ["urn:example:loa3"]))
            let answer = try #require(try await broker.answer(try Self.make()))
            let body = try #require(try JSONReader.parse(answer.body).object)
            #expect(body.string("error") == "interaction_required")
            #expect(body.string("acr_values") == "urn:example:loa3")
            #expect(!body.contains("authorization_uri"))
        }
    }

    @Test("Parameters that are missing, malformed or of another grant are refused by name")
    func parameters() async throws {
        try await TestBroker.run { broker async throws in
            Self.allow(broker.domain)
            func expectRefusal(_ reason: String, _ form: Requests.Parameters, _ headers: [String] = []) async throws {
                #expect(try await broker.answer(form, headers: headers)?.status == 400, "\(reason)")
                #expect(broker.domain.audit.events.last?.reason == reason)
            }
            for (name, value, reason) in [
                ("handoff_client", nil, "handoff_client_missing"),
                ("handoff_client", "nobody", "handoff_web_app_unusable"),
                ("handoff_origin", nil, "handoff_origin_missing"),
                ("handoff_origin", "https://web.example.com/", "handoff_origin_malformed"),
                ("handoff_challenge", nil, "handoff_challenge_missing"),
                ("handoff_challenge", "plain", "handoff_challenge_malformed"),
                ("handoff_verifier", "v", "parameter_of_other_grant"), ("actor_token", nil, "actor_token_missing"),
                ("resource", "https://api.example.com", "resource_present"), ("scope", "a  b", "scope_malformed"),
            ] as [(String, String?, String)] {
                try await expectRefusal(reason, try Self.make([(name, value)]))
            }
            let code = try await Self.code(broker)
            for (name, value, reason) in [
                ("subject_token", nil, "subject_token_missing"), ("handoff_origin", nil, "handoff_origin_missing"),
                ("handoff_verifier", nil, "handoff_verifier_missing"),
                ("handoff_verifier", "short", "handoff_wrong_verifier"),
                ("handoff_challenge", "x", "parameter_of_other_grant"),
                ("actor_token", "x", "parameter_of_other_grant"), ("audience", "x", "parameter_of_other_grant"),
                (
                    "requested_token_type", "urn:ietf:params:oauth:token-type:refresh_token",
                    "requested_token_type_unsupported"
                ),
                ("resource", "https://other.example.com", "resource_foreign"),
            ] as [(String, String?, String)] {
                try await expectRefusal(reason, Self.redeem(code, [(name, value)]), [Self.basic])
            }
            // A refused attempt does not use the code up.
            #expect(try await broker.answer(Self.redeem(code), headers: [Self.basic])?.status == 200)
        }
    }

    @Test("While the identity provider is suspended, its logins are neither handed off nor redeemed")
    func suspendedProvider() async throws {
        try await TestBroker.run { broker async throws in
            Self.allow(broker.domain)
            let code = try await Self.code(broker)
            broker.domain.directory.suspend([Domain.issuer])
            let made = try #require(try await broker.answer(try Self.make()))
            let redeemed = try #require(try await broker.answer(Self.redeem(code), headers: [Self.basic]))
            for answer in [made, redeemed] {
                #expect(answer.status == 400)
                #expect(try JSONReader.parse(answer.body).object?.string("error") == "invalid_target")
            }
            #expect(broker.domain.audit.events.map(\.reason) == ["idp_suspended", "idp_suspended"])
            broker.domain.directory.suspend([])
            #expect(try await broker.answer(Self.redeem(code), headers: [Self.basic])?.status == 200)
        }
    }

    @Test("An outage is no refusal, and costs no code")
    func outage() async throws {
        try await TestBroker.run { broker async throws in
            Self.allow(broker.domain)
            let code = try await Self.code(broker)
            broker.domain.registry.fail(with: .outage(Outage(.database, "gone")))
            #expect(try await broker.answer(try Self.make())?.status == 503)
            #expect(try await broker.answer(Self.redeem(code), headers: [Self.basic])?.status == 503)
            broker.domain.registry.fail(with: nil)
            #expect(try await broker.answer(Self.redeem(code), headers: [Self.basic])?.status == 200)
        }
    }
}
