import BrokerTesting
import Glibc
import JOSE
import StrictCoding
import BrokerHarness
import Testing

extension Faults {
    /// Codes on real processes: two brokers, one database, and a token endpoint that each test controls.
    struct CodeEnrolmentTests {
        @Test(arguments: [NativeProfile.deviceID, .deviceSecret])
        func fromCodeToSibling(profile: NativeProfile) async throws {
            let fixture = try await EnrolmentFixture.shared
            let token = try fixture.freshToken()
            try fixture.gives(token)
            let form = fixture.code(profile)
            let calls = fixture.provider.codeCalls.count
            let answer = try await fixture.broker.token(form)
            try #require(answer.status == 200 && answer.keepsContract, "\(answer.text)")
            let json = try #require(answer.json)
            // The identity provider's tokens, unchanged.
            #expect(json.string("access_token") == "idp-access" && json.string("refresh_token") == "idp-refresh")
            #expect(json.string("token_type") == "Bearer" && json.string("scope") == "openid profile")
            #expect(json.number("expires_in")?.int64 == 3600 && !json.contains("issued_token_type"))
            #expect((json.string("device_secret") == nil) == (profile == .deviceID))
            let idToken = try #require(json.string("id_token"))
            let claims = try UnverifiedToken.claims(of: idToken)
            #expect(claims.string("iss") == fixture.installation.configuration.issuer)
            #expect(claims.string("nonce") == "n-0S6_WzA2Mj" && claims.string("idp") == fixture.provider.issuer)
            #expect(claims.string("at_hash") == IDToken.leftHalfHash("idp-access"))

            // The identity provider got the code request and nothing else.
            let call = try #require(fixture.provider.codeCalls.dropFirst(calls).first)
            #expect(fixture.provider.codeCalls.count == calls + 1)
            #expect(call.parameter("code") == form["code"] && call.parameter("code_verifier") == form["code_verifier"])
            #expect(call.parameter("client_id") == "app-one" && call.field("authorization") == nil)
            #expect(call.parameter("device_id") == nil && call.parameter("scope") == nil)

            // App two, at the other replica.
            let exchanged = try await fixture.replica.token(
                .exchange(
                    idToken, issuer: fixture.installation.configuration.issuer,
                    device: json.string("device_secret") ?? EnrolmentFixture.device, profile: profile, client: "app-two"
                ))
            #expect(exchanged.status == 200, "\(exchanged.text)")
        }

        /// The answer was lost. The same request gets it again, octet by octet, from any replica; every other request
        /// gets nothing.
        @Test func aLostAnswer() async throws {
            let fixture = try await EnrolmentFixture.shared
            try fixture.gives(try fixture.freshToken())
            let form = fixture.code(.deviceSecret)
            let calls = fixture.provider.codeCalls.count
            let first = try await fixture.broker.token(form)
            try #require(first.status == 200, "\(first.text)")
            #expect(try await fixture.replica.token(form).body == first.body)
            #expect(try await fixture.broker.token(form).body == first.body)
            for (name, value) in [
                ("code_verifier", Unguessable.make()), ("redirect_uri", "https://other.example/cb"),
                ("client_id", "app-two"), ("device_id", EnrolmentFixture.device),
                ("scope", "openid device_sso profile"),
            ] {
                var other = form
                other[name] = value
                let refused = try await fixture.replica.token(other)
                #expect(refused.status == 400 && refused.error == "invalid_grant", "\(name): \(refused.text)")
                #expect(try await fixture.reason(refused) == "code_used", "\(name)")
            }
            #expect(fixture.provider.codeCalls.count == calls + 1)
            // The 30 s for redelivery have passed.
            let sql = try fixture.installation.session()
            try await sql.rows("UPDATE native_sso.relayed_code SET valid_until = now() - interval '1 s'")
            let late = try await fixture.broker.token(form)
            #expect(late.error == "invalid_grant")
            #expect(try await fixture.reason(late) == "code_used")
            #expect(fixture.provider.codeCalls.count == calls + 1)
            // The stored answer is unreadable without the request.
            #expect(try await sql.row("SELECT count(*) FROM native_sso.relayed_code WHERE answer LIKE '%idp%'") == "0")
        }

        /// Twenty requests at once over two brokers: one call, one session, one answer.
        @Test func aRace() async throws {
            let fixture = try await EnrolmentFixture.shared
            let token = try fixture.freshToken()
            try fixture.gives(token)
            let form = fixture.code(.deviceSecret)
            let calls = fixture.provider.codeCalls.count
            let answers = try await atOnce(20) { number in
                let broker = number.isMultiple(of: 2) ? fixture.broker : fixture.replica
                return try await eventually("an answer") { () -> HTTPAnswer? in
                    let answer = try await broker.token(form)
                    guard answer.status != 503 else {
                        #expect(answer["Retry-After"] == "1" && answer.error == "temporarily_unavailable")
                        return nil
                    }
                    return answer
                }
            }
            #expect(answers.allSatisfy { $0.status == 200 && $0.body == answers[0].body })
            #expect(fixture.provider.codeCalls.count == calls + 1)
            let sub = try #require(token.claims.string("sub"))
            #expect(
                try await fixture.installation.session().row(
                    "SELECT count(*) FROM native_sso.session WHERE subject = '\(sub)'") == "1")
        }

        // MARK: An identity provider that refuses, lies or fails

        /// E-09: the broker maps the identity provider's error code and passes on nothing else.
        @Test func itsErrorsPass() async throws {
            let fixture = try await EnrolmentFixture.shared
            let page = "<html>" + String(repeating: "x", count: 1 << 20)
            for (error, status, expected, reason) in [
                ("invalid_grant", 400, "invalid_grant", "idp_invalid_grant"),
                ("invalid_client", 401, "invalid_client", "idp_invalid_client"),
                ("unauthorized_client", 400, "unauthorized_client", "idp_unauthorized_client"),
                ("consent_required", 400, "interaction_required", "idp_interaction_required"),
                ("<b>own_error</b>", 400, "invalid_grant", "idp_other_error"),
            ] {
                fixture.provider.token { _ in
                    .answers(status, "{\"error\":\"\(error)\",\"error_description\":\"\(page)\",\"x\":1}")
                }
                let form = fixture.code(.deviceSecret)
                let calls = fixture.provider.codeCalls.count
                let answer = try await fixture.broker.token(form)
                #expect(answer.status == 400 && answer.error == expected && answer.keepsContract, "\(answer.text)")
                #expect(answer.body.count < 300 && answer["WWW-Authenticate"] == nil)
                #expect(try await fixture.reason(answer) == reason)
                // The refusal is final at every replica, even if the identity provider would accept the code now.
                try fixture.gives(try fixture.freshToken())
                #expect(try await fixture.replica.token(form).body == answer.body)
                #expect(fixture.provider.codeCalls.count == calls + 1)
            }
        }

        /// E-10: no answer is an outage. The code counts as used, because the identity provider may have used it.
        @Test func itFails() async throws {
            let fixture = try await EnrolmentFixture.shared
            let replies: [(String, CodeReply)] = [
                ("idp_unavailable", .answers(503, "")), ("idp_unavailable", .answers(429, "")),
                ("idp_unavailable", .answers(400, #"{"error":"temporarily_unavailable"}"#)),
                ("idp_cut_off", .closes), ("idp_cut_off", .breaksOff), ("idp_timed_out", .hangs),
            ]
            for (reason, reply) in replies {
                let answer = try await onlyAnswer(to: reply, reason, fixture)
                #expect(answer.isOutage, "\(reason): \(answer.status) \(answer.text)")
                #expect(try await fixture.reason(answer) == reason)
            }
        }

        /// An unusable answer is final, and leads to no session. The log names the fault.
        @Test func itsAnswerIsUnusable() async throws {
            let fixture = try await EnrolmentFixture.shared
            let sql = try fixture.installation.session()
            let count = "SELECT count(*) FROM native_sso.session"
            let sessions = try await sql.row(count)
            let token = try fixture.freshToken()
            let good = try fixture.answer(token)
            func bent(_ change: (inout IDToken) -> Void) throws -> CodeReply {
                var other = token
                change(&other)
                return .answers(200, try fixture.answer(other))
            }
            let now = try #require(token.claims.number("iat")?.wholeSeconds)
            let replies: [(String, CodeReply)] = [
                ("idp_status", .answers(201, good)), ("idp_status", .answers(404, "{}")),
                ("idp_redirected", .answers(302, good, fields: "Location: \(fixture.provider.issuer)/elsewhere\r\n")),
                ("idp_redirected", .answers(307, good, fields: "Location: \(fixture.provider.issuer)/token\r\n")),
                ("idp_content_type", .answers(200, good, type: "text/html")),
                ("idp_content_type", .answers(200, good, fields: "Content-Type: application/json\r\n")),
                ("idp_content_encoding", .answers(200, good, fields: "Content-Encoding: gzip\r\n")),
                ("idp_too_large", .answers(200, good + String(repeating: " ", count: 3 << 20))),
                ("idp_not_json", .answers(200, "access_token=idp-access")),
                ("idp_not_json", .answers(200, good.replacing("{", with: "{\"id_token\":\"x\",", maxReplacements: 1))),
                ("idp_not_json", .answers(200, "[]")), ("idp_not_json", .answers(200, "")),
                ("idp_not_json", .answers(400, "<html>")),
                ("idp_answer_malformed", .answers(400, #"{"error":7}"#)),
                ("idp_answer_malformed", .answers(200, good.replacing("bearer", with: "mac"))),
                ("idp_answer_malformed", .answers(200, good.replacing("\"idp-access\"", with: "null"))),
                ("idp_answer_malformed", .answers(200, good.replacing("idp-refresh", with: "idp\\nrefresh"))),
                ("idp_answer_malformed", .answers(200, good.replacing("3600", with: "\"3600\""))),
                ("idp_no_id_token", .answers(200, #"{"access_token":"a","token_type":"Bearer"}"#)),
                ("subject_token_iss", try bent { $0.claims["iss"] = .string("https://evil.example") }),
                ("subject_token_bad_signature", try bent { $0.rewritesToken = { String($0.dropLast(4)) + "AAAA" } }),
                ("idp_id_token_other_client", try bent { $0.claims["aud"] = .string("app-two") }),
                (
                    "idp_id_token_other_client",
                    try bent {
                        $0.claims["aud"] = .array([.string("app-one"), .string("app-two")])
                        $0.claims["azp"] = .string("app-one")
                    }
                ),
                (
                    "idp_id_token_stale",
                    try bent {
                        $0.claims["auth_time"] = nil
                        $0.claims["iat"] = .number(JSONNumber(now - 600))
                    }
                ),
                ("idp_at_hash", try bent { $0.claims["at_hash"] = .string(IDToken.leftHalfHash("another")) }),
            ]
            for (fault, reply) in replies {
                let answer = try await onlyAnswer(to: reply, fault, fixture)
                #expect(
                    answer.status == 400 && answer.error == "invalid_grant" && answer.keepsContract,
                    "\(fault): \(answer.status) \(answer.text)")
                #expect(try await fixture.reason(answer) == "idp_answer_unusable", "\(fault)")
                #expect(try await fixture.fault(answer) == fault)
            }
            #expect(try await sql.row(count) == sessions)
            // Control: a good answer still succeeds.
            try fixture.gives(try fixture.freshToken())
            #expect(try await fixture.broker.token(fixture.code(.deviceSecret)).status == 200)
        }

        /// The answer to a code that costs the app its code: another broker refuses the same request, although the
        /// identity provider would answer it well now, and does not ask there again.
        private func onlyAnswer(
            to reply: CodeReply, _ what: String, _ fixture: EnrolmentFixture
        ) async throws -> HTTPAnswer {
            fixture.provider.token { _ in reply }
            let form = fixture.code(.deviceSecret)
            let calls = fixture.provider.codeCalls.count
            let answer = try await fixture.broker.token(form)
            try fixture.gives(try fixture.freshToken())
            let again = try await fixture.replica.token(form)
            #expect(again.status == 400 && again.error == "invalid_grant", "\(what): \(again.text)")
            #expect(try await fixture.reason(again) == "code_used", "\(what)")
            #expect(fixture.provider.codeCalls.count == calls + 1, "\(what): asked again")
            return answer
        }

        /// E-08: the app did not ask for a device session, so there is none.
        @Test func anOrdinaryLogin() async throws {
            let fixture = try await EnrolmentFixture.shared
            let sql = try fixture.installation.session()
            let token = try fixture.freshToken()
            try fixture.gives(token)
            let answer = try await fixture.broker.token(fixture.code(nil))
            #expect(answer.status == 200 && answer.json?.string("device_secret") == nil, "\(answer.text)")
            let parts = answer.json?.string("id_token")?.split(separator: ".")
            #expect(parts?.dropLast() == (try token.signed()).split(separator: ".").dropLast())
            let sub = try #require(token.claims.string("sub"))
            #expect(try await sql.row("SELECT count(*) FROM native_sso.session WHERE subject = '\(sub)'") == "0")
        }

        /// RFC 9449: an app with a key enrols for that key. A proof works once, and the app has no other key on that
        /// device.
        @Test func byKey() async throws {
            let fixture = try await EnrolmentFixture.shared
            let issuer = fixture.installation.configuration.issuer
            let (key, otherKey) = (try TestKey(.es256, keyID: "one"), try TestKey(.es256, keyID: "two"))
            func proof(_ key: TestKey) throws -> String {
                try TestProof(by: key, for: issuer + "/token", at: Int64(time(nil))).signed()
            }
            func send(_ form: TokenForm, _ proof: String, at broker: Broker) async throws -> HTTPAnswer {
                try await HTTPRequest.token(form.parameters, fields: [("DPoP", proof)]).send(to: broker.publicPort)
            }
            func refused(_ answer: HTTPAnswer, _ error: String, _ reason: String) async throws {
                #expect(answer.status == 400 && answer.error == error, "\(answer.text)")
                #expect(try await fixture.reason(answer) == reason)
            }
            try fixture.gives(try fixture.freshToken(of: "app-bound"))
            let calls = fixture.provider.codeCalls.count
            let form = fixture.code(.deviceID, of: "app-bound")
            try await refused(try await fixture.broker.token(form), "invalid_dpop_proof", "dpop_proof_required")
            let used = try proof(key)
            let first = try await send(form, used, at: fixture.broker)
            try #require(first.status == 200, "\(first.text)")
            let idToken = try #require(first.json?.string("id_token"))
            #expect(
                try UnverifiedToken.claims(of: idToken)["cnf"]?.object?.string("jkt")
                    == TestProof.thumbprint(of: key))
            // The identity provider's access token stays a bearer token.
            #expect(first.json?.string("token_type") == "Bearer")
            #expect(fixture.provider.codeCalls.last?.field("dpop") == nil)

            try await refused(try await send(form, used, at: fixture.replica), "invalid_dpop_proof", "dpop_replayed")
            #expect(try await send(form, try proof(key), at: fixture.replica).body == first.body)
            try await refused(
                try await send(form, try proof(otherKey), at: fixture.replica), "invalid_grant", "code_used")
            #expect(fixture.provider.codeCalls.count == calls + 1)

            // Another login on the same device.
            try fixture.gives(try fixture.freshToken(of: "app-bound"))
            try await refused(
                try await send(fixture.code(.deviceID, of: "app-bound"), try proof(otherKey), at: fixture.broker),
                "invalid_grant", "pin_conflict")

            // The sibling binds a key of its own. A second key is refused there too.
            let exchange = TokenForm.exchange(
                idToken, issuer: issuer, device: EnrolmentFixture.device, profile: .deviceID, client: "app-bound-two")
            let exchanged = try await send(exchange, try proof(otherKey), at: fixture.replica)
            #expect(exchanged.json?.string("token_type") == "DPoP", "\(exchanged.text)")
            #expect(try await send(exchange, try proof(otherKey), at: fixture.broker).status == 200)
            try await refused(
                try await send(exchange, try proof(key), at: fixture.broker), "invalid_grant", "pin_conflict")
        }

        /// D-16: the broker ignores a secret beside a code and makes a new one.
        @Test func aDeviceSecretBesideACode() async throws {
            let fixture = try await EnrolmentFixture.shared
            try fixture.gives(try fixture.freshToken())
            var form = fixture.code(.deviceSecret)
            form["device_secret"] = Unguessable.make()
            let answer = try await fixture.broker.token(form)
            #expect(answer.status == 200, "\(answer.text)")
            #expect(answer.json?.string("device_secret") != form["device_secret"])
        }

        @Test func whatIsRefusedBeforehand() async throws {
            let fixture = try await EnrolmentFixture.shared
            let calls = fixture.provider.codeCalls.count
            func refused(_ change: (inout TokenForm) -> Void) async throws -> String {
                var form = fixture.code(.deviceSecret)
                change(&form)
                let answer = try await fixture.broker.token(form)
                #expect(answer.status == 400 && answer.keepsContract, "\(answer.text)")
                return "\(answer.error ?? "") \(try await fixture.reason(answer))"
            }
            #expect(try await refused { $0["code"] = nil } == "invalid_request code_missing")
            #expect(try await refused { $0["redirect_uri"] = nil } == "invalid_request redirect_uri_missing")
            #expect(try await refused { $0["code_verifier"] = nil } == "invalid_request code_verifier_missing")
            for verifier in [String(repeating: "a", count: 42), String(repeating: "a", count: 42) + "+"] {
                #expect(
                    try await refused { $0["code_verifier"] = verifier } == "invalid_grant code_verifier_malformed")
            }
            #expect(try await refused { $0["code"] = "ö" } == "invalid_grant code_malformed")
            #expect(try await refused { $0["scope"] = "device_sso" } == "invalid_scope scope_lacks_openid")
            #expect(
                try await refused { $0["scope"] = "openid device_sso admin" } == "invalid_scope scope_exceeds_client")
            #expect(try await refused { $0["device_id"] = "short" } == "invalid_request device_id_malformed")
            #expect(try await refused { $0["audience"] = "https://other.example" } == "invalid_target audience_unknown")
            #expect(try await refused { $0["resource"] = "https://api.example" } == "invalid_target resource_present")
            #expect(
                try await refused { $0["refresh_token"] = "nsr1.x" } == "invalid_request parameter_of_other_grant")
            #expect(fixture.provider.codeCalls.count == calls)
        }
    }
}
