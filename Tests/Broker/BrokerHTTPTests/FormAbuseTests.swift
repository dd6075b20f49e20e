@testable import BrokerHTTP
import BrokerTesting
import NativeSSO
import StrictCoding
import RegistryConformance
import Testing

@Suite("Forms and parameters that are refused", .timeLimit(.minutes(1)))
struct FormAbuseTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let title: String
        let body: String
        let error: String
        let reason: String
        var testDescription: String { title }

        init(_ title: String, _ body: String, _ error: String, _ reason: String) {
            self.title = title
            self.body = body
            self.error = error
            self.reason = reason
        }

        /// An exchange with changes.
        init(_ title: String, _ changes: [(String, String?)], _ error: String, _ reason: String, current: Bool = false)
        {
            let base = current ? Requests.currentExchange : Requests.exchange
            self.init(title, Self.body(Requests.changed(base, changes)), error, reason)
        }

        static func body(_ parameters: Requests.Parameters) -> String {
            String(Requests.post(parameters).split(separator: "\r\n\r\n")[1])
        }

        static let exchange = body(Requests.exchange)
    }

    private static func long(_ count: Int) -> String { String(repeating: "a", count: count) }
    private static let refresh = "grant_type=refresh_token&client_id=app-two"

    static let formRows: [Row] = [
        Row("F-01 empty body", "", "invalid_request", "grant_type_missing"),
        Row("F-02 grant_type missing", "client_id=app-two", "invalid_request", "grant_type_missing"),
        Row("F-02 grant_type empty", "client_id=app-two&grant_type=", "invalid_request", "grant_type_missing"),
        Row("F-03 password", "grant_type=password&client_id=app-two", "unsupported_grant_type", "grant_type_unknown"),
        Row("F-03 client_credentials", "grant_type=client_credentials", "unsupported_grant_type", "grant_type_unknown"),
        Row(
            "F-03 jwt-bearer", "grant_type=urn:ietf:params:oauth:grant-type:jwt-bearer", "unsupported_grant_type",
            "grant_type_unknown"),
        Row("F-03 authorization_code", "grant_type=authorization_code", "unsupported_grant_type", "grant_type_unknown"),
        Row("F-04 case", "grant_type=Refresh_Token&client_id=app-two", "unsupported_grant_type", "grant_type_unknown"),
        Row("F-04 space", "grant_type=refresh_token%20", "unsupported_grant_type", "grant_type_unknown"),
        Row("F-04 NUL", "grant_type=refresh_token%00", "unsupported_grant_type", "grant_type_unknown"),
        Row("F-06 %5F", "client_id=a&client%5Fid=b", "invalid_request", "form_duplicate_parameter"),
        Row("F-06 []", "client_id=a&client_id[]=b", "invalid_request", "form_malformed_name"),
        Row("F-06 ;", "client_id=a;client_id=b", "invalid_request", "form_unescaped_semicolon"),
        Row("F-08 NUL", "grant_type=refresh_token&client_id=app%00a", "invalid_request", "form_control_character"),
        Row("F-08 CR LF", "scope=openid%0d%0aX", "invalid_request", "form_control_character"),
        Row("F-09 name of 60 KiB", long(61_440) + "=", "invalid_request", "form_name_too_long"),
        Row("bad escape", "grant_type=%zz", "invalid_request", "form_malformed_percent_encoding"),
        Row("overlong UTF-8", "scope=%c0%af", "invalid_request", "form_invalid_utf8"),
        Row(
            "F-11 subject_token of 16,385", [("subject_token", long(16_385))], "invalid_request", "form_value_too_long"),
        Row("F-12 refresh_token", "\(refresh)&refresh_token=\(long(513))", "invalid_request", "form_value_too_long"),
        Row("F-12 actor_token", [("actor_token", long(4097))], "invalid_request", "form_value_too_long"),
        Row("F-12 scope", [("scope", long(4097))], "invalid_request", "form_value_too_long"),
        Row("F-12 client_id", [("client_id", long(256))], "invalid_request", "form_value_too_long"),
        Row("F-12 code", [("code", long(4097))], "invalid_request", "form_value_too_long"),
        Row("F-12 code_verifier", [("code_verifier", long(129))], "invalid_request", "form_value_too_long"),
        Row("F-12 unknown", [("foo", long(1025))], "invalid_request", "form_value_too_long"),
        Row(
            "F-13 both grants", "\(refresh)&refresh_token=R&subject_token=S&actor_token=A", "invalid_request",
            "parameter_of_other_grant"),
        Row(
            "F-13 refresh_token in an exchange", [("refresh_token", "R")], "invalid_request", "parameter_of_other_grant"
        ),
        Row("R-01 refresh_token missing", refresh, "invalid_request", "refresh_token_missing"),
        Row("R-01 refresh_token empty", "\(refresh)&refresh_token=", "invalid_request", "refresh_token_missing"),
    ]

    static let exchangeRows: [Row] = [
        Row("D-02", [("actor_token_type", nil)], "invalid_request", "actor_token_type_missing"),
        Row("D-03", [("actor_token", nil)], "invalid_request", "actor_token_missing"),
        Row("D-03 empty", [("actor_token", "")], "invalid_request", "actor_token_missing"),
        Row(
            "D-04 the older URN, not enabled here",
            [("actor_token_type", "urn:x-oath:params:oauth:token-type:device-secret")], "invalid_request",
            "profile_not_enabled", current: true),
        Row(
            "D-05", [("actor_token_type", "urn:ietf:params:oauth:token-type:access_token")], "invalid_request",
            "actor_token_type_unsupported"),
        Row(
            "D-05 case", [("actor_token_type", "URN:X-OATH:PARAMS:OAUTH:TOKEN-TYPE:DEVICE-ID")], "invalid_request",
            "actor_token_type_unsupported"),
        Row(
            "D-05 space", [("actor_token_type", "urn:x-oath:params:oauth:token-type:device-id ")], "invalid_request",
            "actor_token_type_unsupported"),
        Row(
            "D-06", [("subject_token_type", "urn:ietf:params:oauth:token-type:access_token")], "invalid_request",
            "subject_token_type_unsupported"),
        Row(
            "D-06 hyphen", [("subject_token_type", "urn:ietf:params:oauth:token-type:id-token")], "invalid_request",
            "subject_token_type_hyphenated"),
        Row("D-19 21 characters", [("actor_token", long(21))], "invalid_request", "actor_token_malformed"),
        Row("D-19 513 characters", [("actor_token", long(513))], "invalid_request", "actor_token_malformed"),
        Row("D-19 not ASCII", [("actor_token", long(30) + "\u{E9}")], "invalid_request", "actor_token_malformed"),
        Row("D-19 DEL", [("actor_token", long(30) + "\u{7F}")], "invalid_request", "form_control_character"),
        Row("subject_token missing", [("subject_token", nil)], "invalid_request", "subject_token_missing"),
        Row(
            "subject_token_type missing", [("subject_token_type", nil)], "invalid_request", "subject_token_type_missing"
        ),
        Row(
            "requested_token_type", [("requested_token_type", "urn:ietf:params:oauth:token-type:id_token")],
            "invalid_request", "requested_token_type_unsupported"),
        Row("U-01", [("audience", nil)], "invalid_request", "audience_missing"),
        Row("U-02", [("audience", "https://api.example")], "invalid_target", "audience_unknown"),
        Row("U-02 slash", [("audience", "https://idp.example.com/")], "invalid_target", "audience_unknown"),
        Row("U-02 case", [("audience", "https://IDP.example.com")], "invalid_target", "audience_unknown"),
        Row("U-02 the slide's own", [("audience", "https:??login.aol.com")], "invalid_target", "audience_unknown"),
        Row("U-03", Row.exchange + "&audience=b", "invalid_target", "audience_repeated"),
        Row(
            "U-03 twice the same", Row.exchange + "&audience=https://idp.example.com", "invalid_target",
            "audience_repeated"),
        Row("U-04", [("resource", "https://payroll.internal")], "invalid_target", "resource_foreign"),
        Row("S-01", [("scope", "profile")], "invalid_scope", "scope_lacks_openid", current: true),
        Row("S-03", [("scope", "openid admin")], "invalid_scope", "scope_exceeds_client"),
        Row("S-05 quote", [("scope", "a\"b")], "invalid_scope", "scope_malformed"),
        Row("S-05 tab", [("scope", "a\tb")], "invalid_scope", "scope_malformed"),
        Row("S-05 two spaces", [("scope", "a  b")], "invalid_scope", "scope_malformed"),
        Row("S-05 4 KiB", [("scope", long(4096))], "invalid_scope", "scope_exceeds_client"),
        Row(
            "S-05 500 scopes", [("scope", (0..<500).map { "s\($0)" }.joined(separator: " "))], "invalid_scope",
            "scope_malformed"),
        Row("S-05 not ASCII", [("scope", "\u{E9}")], "invalid_scope", "scope_malformed"),
        Row("consent, 2018 profile", [("scope", "payments")], "invalid_scope", "consent_required"),
        Row(
            "consent, draft 07", [("scope", "openid payments")], "interaction_required", "consent_required",
            current: true),
        Row("U-10, 2018 profile", [("client_id", "demanding")], "invalid_grant", "assurance_insufficient"),
        Row(
            "U-10, draft 07", [("client_id", "demanding")], "interaction_required", "assurance_insufficient",
            current: true),
    ]

    static let stateRows: [Row] = [
        Row("device of someone else", [("actor_token", long(22))], "invalid_grant", "device_hash_mismatch"),
        Row(
            "D-14", [("actor_token", "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZG1pbiJ9.")], "invalid_grant",
            "device_hash_mismatch"),
        Row("own login", [("client_id", "app-one")], "invalid_grant", "direction_forbidden"),
        Row("R-02 not ours", "\(refresh)&refresh_token=R", "invalid_grant", "refresh_token_not_ours"),
        Row("R-04 a JWT", "\(refresh)&refresh_token=eyJ.e30.c2ln", "invalid_grant", "refresh_token_not_ours"),
        Row("F-17 space", "\(refresh)&refresh_token=%20R", "invalid_grant", "refresh_token_not_ours"),
        Row("F-17 line feed", "\(refresh)&refresh_token=R%0A", "invalid_grant", "refresh_token_not_ours"),
        Row("R-13 forged", "\(refresh)&refresh_token=nsr1." + long(71), "invalid_grant", "refresh_token_not_ours"),
    ]

    @Test(
        "Each is refused for its reason, with one log line and one audit event",
        arguments: formRows + exchangeRows + stateRows)
    func refused(row: Row) async throws {
        try await TestBroker.run { broker async throws in
            let before = broker.domain.registry.digestOfState()
            let answer = try #require(try await broker.answer(Requests.post(row.body)))
            #expect(answer.status == 400)
            #expect(answer.error == row.error)
            #expect(answer.values("cache-control") == ["no-store"])
            #expect(answer.values("pragma") == ["no-cache"])
            #expect(broker.log.requests.map { $0.string("reason") } == [row.reason])
            #expect(broker.domain.audit.events.map(\.reason) == [row.reason])
            #expect(broker.domain.registry.digestOfState() == before)
            #expect(broker.domain.signer.count == 0)
        }
    }

    @Test("F-05 a repeated parameter is refused, even if the second is empty")
    func duplicates() async throws {
        try await TestBroker.run { broker async throws in
            for parameters in [Requests.exchange + [("scope", "openid")], Requests.refresh("R") + [("foo", "x")]] {
                for (name, value) in parameters where name != "audience" {
                    for second in [value, "x", ""] {
                        let answer = try #require(try await broker.answer(parameters + [(name, second)]))
                        #expect(answer.error == "invalid_request")
                        #expect(broker.log.requests.last?.string("reason") == "form_duplicate_parameter")
                    }
                }
            }
        }
    }

    @Test("F-09, F-10 thousands of parameters are refused cheaply")
    func manyParameters() async throws {
        try await TestBroker.run { broker async throws in
            for body in [
                (0..<10_000).map { "a\($0 % 100)=" }.joined(separator: "&"),
                (0..<5000).map { "k\($0)=v" }.joined(separator: "&"),
            ] {
                let answer = try #require(try await broker.answer(Requests.post(body)))
                #expect(answer.error == "invalid_request")
                #expect((broker.log.requests.last?.number("duration_us")?.int64 ?? .max) < 50_000)
            }
        }
    }

    @Test("F-11 a body over the limit gets 413, not a missing-token error")
    func oversizedToken() async throws {
        try await TestBroker.run { broker async throws in
            let parameters = Requests.changed(Requests.exchange, [("subject_token", Self.long(1_000_000))])
            #expect(try await broker.answer(parameters)?.status == 413)
        }
    }

    @Test(
        "All defects of the subject token get the same answer",
        arguments: SubjectTokenDefect.allCases)
    func subjectToken(defect: SubjectTokenDefect) async throws {
        try await TestBroker.run { broker async throws in
            broker.domain.verifier.answer(.refusal(defect))
            let answer = try #require(try await broker.answer(Requests.exchange))
            #expect(answer.status == 400)
            #expect(
                answer.text == #"{"error":"invalid_request","error_description":"The subject token is not valid."}"#)
            #expect(broker.domain.audit.events.map(\.reason) == [defect.row.reason])
            #expect(broker.domain.audit.events.map(\.kind) == [.exchangeRefused])
        }
    }

    @Test("D-06 the hyphenated type needs the 2018 profile and the issuer's permission")
    func hyphen() async throws {
        try await TestBroker.run { broker async throws in
            let hyphen = ("subject_token_type", "urn:ietf:params:oauth:token-type:id-token" as String?)
            let audience = ("audience", "https://lenient.example" as String?)
            // This issuer has no session here: the form passes, and the exchange is refused by state.
            let old = Requests.changed(Requests.exchange, [hyphen, audience])
            _ = try await broker.answer(old)
            #expect(broker.log.requests.last?.string("reason") != "subject_token_type_hyphenated")
            let current = Requests.changed(Requests.currentExchange, [hyphen, audience])
            _ = try await broker.answer(current)
            #expect(broker.log.requests.last?.string("reason") == "subject_token_type_hyphenated")
        }
    }

    @Test("An alias of the issuer is accepted, and device_sso is dropped")
    func accepted() async throws {
        try await TestBroker.run { broker async throws in
            let alias = Requests.changed(
                Requests.exchange, [("audience", "api://default"), ("scope", "openid device_sso")])
            let answer = try #require(try await broker.answer(alias))
            #expect(answer.status == 200)
            #expect(try JSONReader.parse(answer.body).object?.string("scope") == "openid")
        }
    }

    @Test("D-17 a device secret beside a refresh token is ignored")
    func deviceSecretAtRefresh() async throws {
        try await TestBroker.run { broker async throws in
            let first = try #require(try await broker.answer(Requests.exchange))
            let token = try #require(try JSONReader.parse(first.body).object?.string("refresh_token"))
            let answer = try await broker.answer(Requests.refresh(token) + [("device_secret", "D2")])
            #expect(answer?.status == 200)
        }
    }

    @Test("R-19 a refresh token in a cookie is no refresh token")
    func cookie() async throws {
        try await TestBroker.run { broker async throws in
            let request = Requests.post(Self.refresh, headers: ["Cookie: refresh_token=R"])
            #expect(try await broker.answer(request)?.error == "invalid_request")
        }
    }

    @Test("U-10 draft 07 answers name the login that would be enough")
    func stepUp() async throws {
        try await TestBroker.run { broker async throws in
            let parameters = Requests.changed(Requests.currentExchange, [("client_id", "demanding")])
            let answer = try #require(try await broker.answer(parameters))
            #expect(
                answer.text
                    == #"{"error":"interaction_required","error_description":"The user must log in through this client.","#
                    + #""acr_values":"urn:example:loa3","max_age":600}"#)
        }
    }

    private static let authorize = "https://login.example.com/authorize?tenant=7"

    @Test("U-10 the answer has the authorization request, except what the app must add")
    func whereToLogIn() async throws {
        var options = TestBroker.Options()
        options.authorizationEndpoint = Self.authorize
        try await TestBroker.run(options) { broker async throws in
            let demanding = Requests.changed(Requests.currentExchange, [("client_id", "demanding")])
            let scoped = demanding + [("scope", "openid device_sso profile")]
            // The exchange's default scope.
            let shared = demanding + [("scope", "device_sso")]
            for (parameters, scope) in [
                (demanding, "openid+profile"), (scoped, "openid+device_sso+profile"),
                (shared, "openid+profile+device_sso"),
            ] {
                let answer = try #require(try await broker.answer(parameters))
                #expect(
                    answer.text
                        == #"{"error":"interaction_required","#
                        + #""error_description":"The user must log in through this client.","#
                        + #""acr_values":"urn:example:loa3","max_age":600,"authorization_uri":"\#(Self.authorize)"#
                        + #"&response_type=code&client_id=demanding&scope=\#(scope)"#
                        + #"&acr_values=urn%3Aexample%3Aloa3&max_age=600"}"#)
            }
            #expect(broker.domain.audit.events.map(\.reason) == Array(repeating: "assurance_insufficient", count: 3))
            // Only consent is missing.
            let consent = try #require(
                try await broker.answer(Requests.currentExchange + [("scope", "openid payments")]))
            #expect(
                consent.text
                    == #"{"error":"interaction_required","#
                    + #""error_description":"The user must log in through this client.","authorization_uri":""#
                    + #"\#(Self.authorize)&response_type=code&client_id=app-two&scope=openid+payments"}"#)
            // The older profiles have no such answer.
            let older = try #require(
                try await broker.answer(Requests.changed(Requests.exchange, [("client_id", "demanding")])))
            #expect(older.error == "invalid_grant" && !older.text.contains("authorize"))
            let olderConsent = try #require(try await broker.answer(Requests.exchange + [("scope", "payments")]))
            #expect(olderConsent.error == "invalid_scope" && !olderConsent.text.contains("authorize"))
            // A refusal that a login would not help has no URL.
            let other = try #require(try await broker.answer(Requests.currentExchange + [("scope", "openid admin")]))
            #expect(!other.text.contains("authorize"))
        }
    }

    @Test("All refusals by state have the same octets")
    func uniform() async throws {
        try await TestBroker.run { broker async throws in
            var bodies = Set<String>()
            for row in Self.stateRows {
                bodies.insert(try await broker.answer(Requests.post(row.body))?.text ?? "none")
            }
            broker.domain.registry.endSession(Domain.sessionRow)
            bodies.insert(try await broker.answer(Requests.exchange)?.text ?? "none")
            broker.domain.registry.removeMember(ClientID(validated: "app-two"), at: Domain.issuer)
            bodies.insert(try await broker.answer(Requests.exchange)?.text ?? "none")
            #expect(
                bodies == [
                    #"{"error":"invalid_grant","error_description":"The presented token or device value cannot be used."}"#
                ])
        }
    }

    @Test("No log line contains a secret, for any outcome")
    func canary() async throws {
        let canary = "canarycanarycanarycanary"
        try await TestBroker.run { broker async throws in
            for name in [
                "subject_token", "actor_token", "client_id", "scope", "audience", "subject_token_type", "foo", canary,
            ] {
                for value in [canary, "\(canary)\u{0}", "\(canary)\"", Self.long(20_000) + canary] {
                    _ = try await broker.answer(Requests.changed(Requests.exchange, [(name, value)]))
                }
            }
            for header in [
                "Authorization: Bearer \(canary)", "Authorization: Basic \(canary)", Requests.basic("\(canary):x"),
            ] {
                _ = try await broker.answer(Requests.exchange, headers: [header])
            }
            _ = try await broker.answer(Requests.post("x", target: "/\(canary)?\(canary)"))
            _ = try await broker.answer("\(canary) / HTTP/1.1\r\n\r\n")
            #expect(!broker.log.all.contains("canary"))
            #expect(!broker.domain.audit.events.contains { "\($0)".contains("canary") })
            #expect(!broker.metrics.text.contains("canary"))
        }
    }
}
