import BrokerTesting
import Glibc
import JOSE
import StrictCoding
import BrokerHarness
import Testing

extension Faults {
    /// Each reason for which an enrolment is refused: what the app sees, and what the audit knows.
    struct EnrolmentRefusalTests {
        private struct Case {
            let error: String
            let reason: String
            var client = "app-one"
            var profile = NativeProfile.deviceSecret
            var bendToken: (inout IDToken) throws -> Void = { _ in }
            var bendForm: (inout TokenForm) -> Void = { _ in }
        }

        private static func cases(_ fixture: EnrolmentFixture) -> [Case] {
            let now = Int64(time(nil))
            return [
                Case(error: "invalid_grant", reason: "enrolment_other_client") {
                    $0.claims["aud"] = .string("app-two")
                },
                Case(error: "invalid_grant", reason: "enrolment_other_client") {
                    $0.claims["aud"] = .array([.string("app-one"), .string("app-two")])
                    $0.claims["azp"] = .string("app-one")
                },
                Case(error: "invalid_grant", reason: "enrolment_token_expired") {
                    $0.claims["iat"] = .number(JSONNumber(now - 20))
                    $0.claims["auth_time"] = nil
                    $0.claims["exp"] = .number(JSONNumber(now - 10))
                },
                Case(error: "invalid_grant", reason: "enrolment_token_stale") {
                    $0.claims["iat"] = .number(JSONNumber(now - 310))
                    $0.claims["auth_time"] = nil
                },
                // No row holds an instant as old as that.
                Case(error: "invalid_grant", reason: "enrolment_token_stale") {
                    $0.claims["iat"] = .number(JSONNumber(Int64.min))
                    $0.claims["auth_time"] = nil
                },
                Case(error: "invalid_grant", reason: "device_hash_mismatch", profile: .deviceID) {
                    $0.claims["di_hash"] = .string("b2011aotZ8lT3eslukasAw")
                },
                Case(error: "invalid_grant", reason: "direction_forbidden", client: "app-target"),
                Case(error: "invalid_grant", reason: "client_not_in_group", client: "app-outside"),
                Case(error: "invalid_scope", reason: "scope_lacks_openid", bendForm: { $0["scope"] = "device_sso" }),
                Case(error: "invalid_scope", reason: "scope_lacks_device_sso", bendForm: { $0["scope"] = "openid" }),
                Case(
                    error: "invalid_scope", reason: "scope_exceeds_client",
                    bendForm: { $0["scope"] = "openid device_sso admin" }),
                Case(error: "invalid_dpop_proof", reason: "dpop_proof_required", client: "app-bound"),
                // Another identity provider: its own keys count, whatever name they have, and its own name.
                Case(
                    error: "invalid_request", reason: "subject_token_bad_signature",
                    bendToken: { $0.claims["iss"] = .string(fixture.otherProvider.issuer) },
                    bendForm: { $0["audience"] = fixture.otherProvider.issuer }),
                Case(
                    error: "invalid_request", reason: "subject_token_iss",
                    bendForm: { $0["audience"] = fixture.otherProvider.issuer }),
                Case(error: "invalid_request", reason: "subject_token_iss") {
                    $0.claims["iss"] = .string(fixture.otherProvider.issuer)
                },
                Case(error: "invalid_request", reason: "subject_token_alg_not_allowed") {
                    $0.header["alg"] = .string("none")
                    $0.rewritesToken = { $0.split(separator: ".").prefix(2).joined(separator: ".") + ".AAAA" }
                },
                Case(error: "invalid_request", reason: "subject_token_is_logout_token") {
                    $0.claims["events"] = .object(JSONObject())
                },
                Case(
                    error: "invalid_target", reason: "audience_unknown", bendForm: { $0["audience"] = "https://x.test" }
                ),
                Case(
                    error: "invalid_request", reason: "actor_token_malformed", profile: .deviceID,
                    bendForm: { $0["actor_token"] = "short" }),
            ]
        }

        @Test func eachByItsReason() async throws {
            let fixture = try await EnrolmentFixture.shared
            let sql = try fixture.installation.session()
            for refused in Self.cases(fixture) {
                var token = try fixture.freshToken(of: refused.client)
                try refused.bendToken(&token)
                var form = try fixture.enrolment(token, refused.profile, client: refused.client)
                refused.bendForm(&form)
                let answer = try await fixture.broker.token(form)
                #expect(answer.status == 400 && answer.error == refused.error, "\(refused.reason): \(answer.text)")
                #expect(answer.keepsContract)
                #expect(try await sql.auditedReason(of: answer.requestID) == refused.reason)
                #expect(try await fixture.sessions(of: token, sql) == 0, "\(refused.reason)")
            }
        }

        /// What only the database knows.
        @Test func byState() async throws {
            let fixture = try await EnrolmentFixture.shared
            let sql = try fixture.installation.session()
            let device = Unguessable.make()
            let token = try fixture.freshToken()
            let first = try await fixture.broker.token(fixture.enrolment(token, .deviceID, device: device))
            let sid = try fixture.sid(first)
            let stolen = try await fixture.broker.token(fixture.enrolment(token, .deviceID, device: Unguessable.make()))
            #expect(stolen.error == "invalid_grant")
            #expect(try await sql.auditedReason(of: stolen.requestID) == "enrolment_token_used")

            let digest = try await sql.row(
                "SELECT encode(device_digest, 'hex') FROM native_sso.session WHERE sid = sha256('\(sid)')")
            try await command(fixture, "device", "block", digest)
            let blocked = try await fixture.broker.token(
                fixture.enrolment(fixture.freshToken(), .deviceID, device: device))
            #expect(blocked.error == "invalid_grant")
            #expect(try await sql.auditedReason(of: blocked.requestID) == "device_blocked")
            try await command(fixture, "device", "unblock", digest)

            try await command(fixture, "session", "end", "--sid", sid)
            var late = token
            late.claims["jti"] = .string("another")
            let ended = try await fixture.replica.token(fixture.enrolment(late, .deviceID, device: device))
            #expect(ended.error == "invalid_grant")
            #expect(try await sql.auditedReason(of: ended.requestID) == "enrolment_login_ended")
        }

        /// RFC 9449: a proof works once on any broker. An app's key on a device stays its only one until an operator
        /// forgets it.
        @Test func byKey() async throws {
            let fixture = try await EnrolmentFixture.shared
            let sql = try fixture.installation.session()
            let (key, otherKey) = (try TestKey(.es256, keyID: "one"), try TestKey(.es256, keyID: "two"))
            let device = Unguessable.make()
            func send(_ token: IDToken, _ proof: TestProof, at broker: Broker) async throws -> HTTPAnswer {
                let form = try fixture.enrolment(token, .deviceID, client: "app-bound", device: device)
                return try await HTTPRequest.token(form.parameters, fields: [("DPoP", try proof.signed())]).send(
                    to: broker.publicPort)
            }
            func proof(_ key: TestKey) -> TestProof {
                TestProof(
                    by: key, for: fixture.installation.configuration.issuer + "/token", at: Int64(time(nil)))
            }
            let used = proof(key)
            let first = try await send(try fixture.freshToken(of: "app-bound"), used, at: fixture.broker)
            try #require(first.status == 200, "\(first.text)")
            #expect(first.json?.string("token_type") == "N_A")
            let idToken = try #require(first.json?.string("id_token"))
            let claims = try UnverifiedToken.claims(of: idToken)
            #expect(claims["cnf"]?.object?.string("jkt") == TestProof.thumbprint(of: key))

            let replayed = try await send(try fixture.freshToken(of: "app-bound"), used, at: fixture.replica)
            #expect(replayed.error == "invalid_dpop_proof")
            #expect(try await sql.auditedReason(of: replayed.requestID) == "dpop_replayed")
            let elsewhere = try await send(
                try fixture.freshToken(of: "app-bound"), proof(otherKey), at: fixture.replica)
            #expect(elsewhere.error == "invalid_grant")
            #expect(try await sql.auditedReason(of: elsewhere.requestID) == "pin_conflict")
            #expect(
                try await send(try fixture.freshToken(of: "app-bound"), proof(key), at: fixture.replica).status == 200)

            let digest = try await sql.row(
                "SELECT encode(device_digest, 'hex') FROM native_sso.session WHERE sid = sha256('\(fixture.sid(first))')"
            )
            try await command(fixture, "device", "unpin", digest)
            #expect(
                try await send(try fixture.freshToken(of: "app-bound"), proof(otherKey), at: fixture.broker).status
                    == 200)

            // A sibling has a key of its own, and what it gets is for that.
            var exchange = TokenForm.exchange(
                idToken, issuer: fixture.installation.configuration.issuer, device: device, profile: .deviceID,
                client: "app-two")
            let exchanged = try await HTTPRequest.token(
                exchange.parameters, fields: [("DPoP", try proof(try TestKey(.es256, keyID: "three")).signed())]
            ).send(to: fixture.broker.publicPort)
            #expect(exchanged.json?.string("token_type") == "DPoP", "\(exchanged.text)")
            exchange["actor_token"] = Unguessable.make()
            #expect(try await fixture.broker.token(exchange).error == "invalid_grant")
        }

        /// How long what was enrolled lives: the same ends as that of any login, and the same reasons.
        @Test func byAge() async throws {
            let fixture = try await EnrolmentFixture.shared
            let sql = try fixture.installation.session()
            func family() async throws -> (sid: String, exchange: TokenForm, refresh: TokenForm) {
                let enrolled = try await fixture.broker.token(fixture.enrolment(fixture.freshToken(), .deviceID))
                let idToken = try #require(enrolled.json?.string("id_token"), "\(enrolled.text)")
                let exchange = TokenForm.exchange(
                    idToken, issuer: fixture.installation.configuration.issuer, device: EnrolmentFixture.device,
                    profile: .deviceID, client: "app-two")
                let exchanged = try await fixture.broker.token(exchange)
                let refreshToken = try #require(exchanged.refreshToken, "\(exchanged.text)")
                return (try fixture.sid(enrolled), exchange, .refresh(refreshToken, client: "app-two"))
            }
            func refused(_ form: TokenForm, _ reason: String) async throws {
                let answer = try await fixture.broker.token(form)
                #expect(answer.status == 400 && answer.error == "invalid_grant", "\(answer.text)")
                #expect(try await sql.auditedReason(of: answer.requestID) == reason)
            }
            let old = try await family()
            try await sql.rows(
                "UPDATE native_sso.session SET expires_at = date_trunc('second', now()) WHERE sid = sha256('\(old.sid)')"
            )
            try await refused(old.exchange, "session_expired")
            try await refused(old.refresh, "session_expired")

            let idle = try await family()
            try await sql.rows(
                """
                UPDATE native_sso.session SET last_used_at = date_trunc('second', now() - interval '30 days')
                WHERE sid = sha256('\(idle.sid)')
                """)
            try await refused(idle.exchange, "session_idle")
            try await refused(idle.refresh, "session_idle")

            let limited = try await family()
            try await sql.rows(
                """
                UPDATE native_sso.sso_grant SET expires_at = date_trunc('second', now())
                WHERE session_id = (SELECT session_id FROM native_sso.session WHERE sid = sha256('\(limited.sid)'))
                """)
            try await refused(limited.refresh, "grant_expired")
        }

        /// Refused again and again, an id_token is told to wait; its user's next login is not.
        @Test func againAndAgain() async throws {
            let fixture = try await EnrolmentFixture.shared
            let strict = try fixture.installation.startBroker("strict") { $0.limits["device_failures"] = "3/1h" }
            try await strict.untilReady()
            let token = try fixture.freshToken()
            #expect(try await strict.token(fixture.enrolment(token, .deviceID)).status == 200)
            var statuses: [Int] = []
            for _ in 0..<5 {
                statuses.append(
                    try await strict.token(fixture.enrolment(token, .deviceID, device: Unguessable.make())).status)
            }
            #expect(statuses == [400, 400, 400, 429, 429])
            var next = token
            next.claims["jti"] = .string("another")
            #expect(try await strict.token(fixture.enrolment(next, .deviceID)).status == 200)
            await strict.process.terminate()
        }

        private func command(_ fixture: EnrolmentFixture, _ arguments: String...) async throws {
            try await fixture.installation.command(
                arguments + ["--issuer", fixture.provider.issuer, "--execute", "--reason", "test"])
        }
    }
}
