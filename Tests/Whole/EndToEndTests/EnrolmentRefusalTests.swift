import BrokerTesting
import Glibc
import JOSE
import StrictCoding
import BrokerHarness
import Testing

extension Faults {
    /// Each reason for which an enrolment is refused: what the app sees, and what the audit knows. Other defects of an
    /// id_token are those of an exchange, which the abuse catalogue has.
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
                Case(error: "invalid_grant", reason: "device_hash_mismatch") {
                    $0.claims["ds_hash"] = .string("kjUFOPGZj71P1tPEBR__zg")
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

        /// The user is sent to the IdP of the login, although the broker issued the id_token.
        @Test func aStrongerLogin() async throws {
            let fixture = try await EnrolmentFixture.shared
            let answer = try await fixture.broker.token(fixture.enrolment(fixture.freshToken(), .deviceSecret))
            let json = try #require(answer.json, "\(answer.text)")
            let refused = try await fixture.replica.token(
                .exchange(
                    try #require(json.string("id_token")), issuer: fixture.installation.configuration.issuer,
                    device: try #require(json.string("device_secret")), profile: .deviceSecret, client: "app-strict"))
            #expect(refused.status == 400 && refused.error == "interaction_required")
            #expect(
                refused.json?.string("authorization_uri")
                    == "\(fixture.provider.issuer)/authorize?response_type=code&client_id=app-strict&scope=openid"
                    + "&acr_values=urn%3Aexample%3Aloa2")
            let sql = try fixture.installation.session()
            #expect(try await sql.auditedReason(of: refused.requestID) == "assurance_insufficient")
        }

        private func command(_ fixture: EnrolmentFixture, _ arguments: String...) async throws {
            try await fixture.installation.command(
                arguments + ["--issuer", fixture.provider.issuer, "--execute", "--reason", "test"])
        }
    }
}
