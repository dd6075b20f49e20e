import BrokerHarness
import BrokerTesting
import Crypto
import Foundation
import StrictCoding
import Testing

extension Abuse {
    /// Attacks on the hand-off of a login from an app to a web app.
    struct HandoffScenarioTests {
        /// A browser in which a web app has begun a hand-off: the verifier stays with the web app.
        private struct Browser {
            let verifier = Unguessable.make() + Unguessable.make()
            var challenge: String { Base64URL.encode(Array(SHA256.hash(data: Data(verifier.utf8)))) }
        }

        private func request(_ login: Login, _ browser: Browser, _ fixture: Fixture) throws -> TokenForm {
            var form = try fixture.logins.exchange(login)
            form["requested_token_type"] = TokenForm.webHandoff
            form["handoff_client"] = Fixture.web
            form["handoff_origin"] = Fixture.webOrigin
            form["handoff_challenge"] = browser.challenge
            return form
        }

        private func code(_ login: Login, _ browser: Browser, _ fixture: Fixture) async throws -> String {
            let answer = try await fixture.running.token(try request(login, browser, fixture))
            #expect(answer.status == 200, "\(answer.text)")
            return try #require(answer.json?.string("access_token"))
        }

        private func redeem(
            _ code: String, _ verifier: String, _ fixture: Fixture, by client: String = Fixture.web,
            at origin: String = Fixture.webOrigin, scope: String? = nil, through port: UInt16? = nil
        ) async throws -> HTTPAnswer {
            var form = TokenForm.redemption(code, verifier: verifier, origin: origin)
            form["scope"] = scope
            return try await form.withSecret(fixture.webSecrets[client] ?? "", of: client)
                .send(to: port ?? fixture.running.publicPort)
        }

        /// The answer tells nothing of the reason, which the audit has. Nothing is written.
        private func refuse(
            _ reason: String, _ fixture: Fixture, _ send: () async throws -> HTTPAnswer
        ) async throws {
            let before = try await fixture.digest()
            try await fixture.expectUnusable(try await send(), reason)
            #expect(try await fixture.digest() == before, "\(reason)")
        }

        /// Theft: an attacker reads the code in a log, a history or a referrer. They have neither the web app's secret nor
        /// the browser's verifier. Login CSRF: the attacker makes a code, and the victim's browser opens it. Mix-up: the code
        /// of one site comes to another, or another token in place of a code.
        @Test func aStolenCode() async throws {
            let fixture = try await Fixture.shared
            let (login, browser) = (try await fixture.login(), Browser())
            let traces = try Traces(fixture)
            let code = try await code(login, browser, fixture)
            try await refuse("handoff_other_client", fixture) {
                try await redeem(code, browser.verifier, fixture, by: Fixture.otherWeb)
            }
            var alone = TokenForm.redemption(code, verifier: browser.verifier, origin: Fixture.webOrigin)
            alone["client_id"] = Fixture.web
            let unauthenticated = try await fixture.running.token(alone)
            #expect(unauthenticated.error == "invalid_client")
            alone["client_id"] = Fixture.target
            try await refuse("handoff_web_app_unusable", fixture) { [alone] in try await fixture.running.token(alone) }
            try await refuse("handoff_other_origin", fixture) {
                try await redeem(code, browser.verifier, fixture, at: "https://evil.example.test")
            }
            // The challenge is public: it went through the app link.
            for verifier in [Browser().verifier, browser.challenge] {
                try await refuse("handoff_wrong_verifier", fixture) { try await redeem(code, verifier, fixture) }
            }
            var exchange = try fixture.logins.exchange(login)
            for token in [exchange["subject_token"] ?? "", "nsr1." + code.dropFirst(5), code + "A"] {
                try await refuse("handoff_code_unknown", fixture) { try await redeem(token, browser.verifier, fixture) }
            }
            // None of it has cost the user the hand-off.
            let answer = try await redeem(code, browser.verifier, fixture)
            #expect(answer.status == 200, "\(answer.text)")
            #expect(answer.json?.string("refresh_token") == nil)
            // Neither the code nor the id_token of the web app is a subject token.
            for token in [code, try #require(answer.json?.string("id_token"))] {
                exchange["subject_token"] = token
                #expect(try await fixture.running.token(exchange).error == "invalid_request")
            }
            var secrets = SecretSearch()
            secrets.add(code, "the code")
            let written = try await traces.text(ofRequests: [answer.requestID], fixture)
            #expect(secrets.findings(in: written).allSatisfy { $0.hasPrefix("SHA-256") })
        }

        /// Reuse: one code, one login. Of twenty redemptions at once, at two brokers, one gets tokens.
        @Test func aCodeIsGoodOnce() async throws {
            let fixture = try await Fixture.shared
            let (login, browser) = (try await fixture.login(), Browser())
            let code = try await code(login, browser, fixture)
            let answers = try await atOnce(20) {
                try await redeem(code, browser.verifier, fixture, through: fixture.ports[$0 % 2])
            }
            #expect(answers.count { $0.status == 200 } == 1, "\(answers.map(\.status))")
            #expect(answers.count { $0.text == AnswerContract.unusableBody } == 19)
            // Of so many refusals of one code the audit has a sample. The log has each.
            let late = try await redeem(code, browser.verifier, fixture)
            #expect(late.text == AnswerContract.unusableBody)
            #expect(try await fixture.loggedReason(of: late.requestID) == "handoff_code_used")
        }

        /// A code that waits too long.
        @Test func aLateCode() async throws {
            let fixture = try await Fixture.shared
            let (login, browser) = (try await fixture.login(), Browser())
            let code = try await code(login, browser, fixture)
            try await fixture.sql.rows("UPDATE native_sso.web_handoff SET expires_at = now() WHERE redeemed_at IS NULL")
            try await refuse("handoff_code_expired", fixture) { try await redeem(code, browser.verifier, fixture) }
        }

        /// The login ends between the two requests, or before the first.
        @Test func aDeadSession() async throws {
            let fixture = try await Fixture.shared
            let (login, browser) = (try await fixture.login(), Browser())
            let code = try await code(login, browser, fixture)
            try await fixture.end(login)
            try await refuse("session_ended", fixture) { try await redeem(code, browser.verifier, fixture) }
            let form = try request(login, browser, fixture)
            try await refuse("session_ended", fixture) { try await fixture.running.token(form) }
        }

        /// The device is blocked, and the app disabled, while the code waits.
        @Test func anOperatorIsFaster() async throws {
            let fixture = try await Fixture.shared
            let (login, browser) = (try await fixture.login(), Browser())
            let code = try await code(login, browser, fixture)
            let set = "UPDATE native_sso.client SET enabled = %@ WHERE client_id = '\(Fixture.target)'"
            try await fixture.sql.rows(set.replacing("%@", with: "false"))
            try await refuse("handoff_withdrawn", fixture) { try await redeem(code, browser.verifier, fixture) }
            try await fixture.sql.rows(set.replacing("%@", with: "true"))
            try await fixture.blockDevice(of: login)
            try await refuse("device_blocked", fixture) { try await redeem(code, browser.verifier, fixture) }
        }

        /// Scope: the web app gets no more than the app asked for, and no app gets it more than the web app may have.
        @Test func scopeEscalation() async throws {
            let fixture = try await Fixture.shared
            let (login, browser) = (try await fixture.login(), Browser())
            var form = try request(login, browser, fixture)
            form["scope"] = "openid"
            let made = try await fixture.running.token(form)
            let code = try #require(made.json?.string("access_token"), "\(made.text)")
            let more = try await redeem(code, browser.verifier, fixture, scope: "openid orders.write")
            #expect(more.error == "invalid_scope")
            #expect(try await fixture.sql.auditedReason(of: more.requestID) == "scope_exceeds_handoff")
            form["scope"] = "openid admin"
            let beyond = try await fixture.running.token(form)
            #expect(beyond.error == "invalid_scope")
            #expect(try await fixture.sql.auditedReason(of: beyond.requestID) == "scope_exceeds_client")
            let granted = try await redeem(code, browser.verifier, fixture)
            #expect(granted.json?.string("scope") == "openid")
        }

        /// A login that is bound to a key would become one that is not.
        @Test func aBoundApp() async throws {
            let fixture = try await Fixture.shared
            var form = try request(try await fixture.login(), Browser(), fixture)
            form["client_id"] = Fixture.bound
            // The proof is used up, and nothing else is written.
            let answer = try await HTTPRequest.token(form.parameters, fields: [("DPoP", try fixture.proof().signed())])
                .send(to: fixture.running.publicPort)
            try await fixture.expectUnusable(answer, "handoff_bound_app")
            let kept = "SELECT count(*) FROM native_sso.web_handoff WHERE app_client_id = '\(Fixture.bound)'"
            #expect(try await fixture.sql.row(kept) == "0")
        }

        /// An id_token without its device value, an app that may not, another web site and a web app outside the group get no
        /// code.
        @Test func appsThatGetNoCode() async throws {
            let fixture = try await Fixture.shared
            let login = try await fixture.login()
            let changes: [([String: String], String)] = [
                (["actor_token": Unguessable.make()], "device_hash_mismatch"),
                (["client_id": Fixture.targetOnly], "handoff_not_allowed"),
                (["client_id": Fixture.partner], "group_mismatch"),
                (["handoff_client": Fixture.target], "handoff_web_app_unusable"),
                (["handoff_origin": "https://evil.example.test"], "handoff_origin_not_registered"),
                (["handoff_client": Fixture.confidential], "handoff_origin_not_registered"),
                (
                    ["handoff_client": Fixture.partnerWeb, "handoff_origin": Fixture.partnerOrigin],
                    "handoff_web_app_outside_group"
                ),
            ]
            for (parameters, reason) in changes {
                var form = try request(login, Browser(), fixture)
                for (name, value) in parameters { form[name] = value }
                try await refuse(reason, fixture) { [form] in try await fixture.running.token(form) }
            }
        }
    }
}
