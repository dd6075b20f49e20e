import BrokerHarness
import StrictCoding
import Testing

extension Abuse {
    /// Security events and global token revocations, genuine and forged.
    struct EventScenarioTests {
        @Test(arguments: TokenAttack.ofBoth + TokenAttack.ofEvents)
        func forgedEvent(_ attack: TokenAttack) async throws {
            let fixture = try await Fixture.shared
            let login = try await fixture.login()
            var token = fixture.event(SecurityEventType.sessionRevoked, of: login)
            try attack.bend(&token, fixture)
            try await expectRefusal(attack.reason, of: login, fixture) {
                let text = try token.signed()
                let answer = try await fixture.send(event: text)
                #expect(answer.status == 400, "\(answer.text)")
                #expect(answer.json?.names == ["err", "description"])
                return (answer, text)
            }
        }

        @Test(arguments: TokenAttack.ofBoth + TokenAttack.ofRevocations)
        func forgedRevocation(_ attack: TokenAttack) async throws {
            let fixture = try await Fixture.shared
            let login = try await fixture.login()
            var token = fixture.revocation()
            try attack.bend(&token, fixture)
            try await expectRefusal(attack.reason, of: login, fixture) {
                let text = try token.signed()
                let answer = try await fixture.send(
                    revocation: text, #"{"sub_id":\#(fixture.subject(of: login))}"#)
                #expect(answer.status == 401 && answer.error == "invalid_token", "\(answer.text)")
                #expect(answer["WWW-Authenticate"] == #"Bearer error="invalid_token""#)
                return (answer, text)
            }
        }

        /// A good JWT with a wrong body ends nothing.
        @Test(arguments: [
            ("", "event_body_malformed", 400), ("[]", "event_body_malformed", 400),
            (#"{"sub_id":{},"sub_id":{}}"#, "event_body_malformed", 400), ("{}", "event_subject_missing", 400),
            (#"{"sub_id":{"format":"email","email":"a@example.com"}}"#, "event_subject_format", 400),
            (#"{"sub_id":{"format":"opaque","id":"user"}}"#, "event_subject_format", 400),
            (
                #"{"sub_id":{"format":"iss_sub","iss":"https://evil.example","sub":"user"}}"#, "event_subject_foreign",
                403
            ),
        ])
        func wrongBody(_ body: String, _ reason: String, _ status: Int) async throws {
            let fixture = try await Fixture.shared
            let login = try await fixture.login()
            try await expectRefusal(reason, of: login, fixture) {
                let text = try fixture.revocation().signed()
                let answer = try await fixture.send(revocation: text, body)
                #expect(answer.status == status && answer.error == "invalid_request", "\(answer.text)")
                return (answer, text)
            }
        }

        /// Tokens of another kind, and what is no token.
        @Test func otherTokens() async throws {
            let fixture = try await Fixture.shared
            let login = try await fixture.login()
            for (text, reason) in [
                (try login.token.signed(), "event_token_wrong_typ"),
                (try fixture.logins.logoutEverywhere(login).signed(), "event_token_wrong_typ"),
                (try fixture.revocation().signed(), "event_token_wrong_typ"), ("a.b.c", "event_token_malformed"),
                ("a.b.c.d.e", "event_token_malformed"),
            ] {
                try await expectRefusal(reason, of: login, fixture) { (try await fixture.send(event: text), text) }
            }
            let event = try fixture.event(SecurityEventType.sessionRevoked, of: login).signed()
            try await expectRefusal("event_token_wrong_typ", of: login, fixture) {
                (try await fixture.send(revocation: event, #"{"sub_id":\#(fixture.subject(of: login))}"#), event)
            }
        }

        @Test func sessionRevoked() async throws {
            let fixture = try await Fixture.shared
            let (first, bystander) = (try await fixture.family(), try await fixture.family())
            var token = fixture.event(SecurityEventType.sessionRevoked, of: first.login)
            token.claims["sub_id"] = try JSONText.value(#"{"format":"opaque","id":"\#(first.login.sid)"}"#)
            let text = try token.signed()
            let answer = try await fixture.send(event: text)
            #expect(answer.status == 202 && answer.body.isEmpty && answer["Cache-Control"] == "no-store")
            try await expectReason("session_ended", of: .refresh(first.refreshToken, client: Fixture.target), fixture)
            try await expectReason("session_ended", of: try fixture.logins.exchange(first.login), fixture)
            // A token that comes again changes nothing.
            let before = try await fixture.digest()
            #expect(try await fixture.send(event: text).status == 202)
            #expect(try await fixture.digest() == before)
            #expect(
                try await fixture.running.token(.refresh(bystander.refreshToken, client: Fixture.target)).status == 200)
        }

        @Test func accountDisabled() async throws {
            let fixture = try await Fixture.shared
            let family = try await fixture.family()
            let disabled = fixture.event(SecurityEventType.accountDisabled, of: family.login)
            #expect(try await fixture.send(event: try disabled.signed()).status == 202)
            try await expectReason("session_ended", of: .refresh(family.refreshToken, client: Fixture.target), fixture)
            var next = fixture.logins.login()
            next.token.claims["sub"] = family.login.token.claims["sub"]
            for claim in ["iat", "auth_time"] { next.token.claims[claim] = .number(JSONNumber(fixture.now + 30)) }
            try await expectReason("account_disabled", of: try fixture.logins.exchange(next), fixture)
            let enabled = fixture.event(SecurityEventType.accountEnabled, of: family.login)
            #expect(try await fixture.send(event: try enabled.signed()).status == 202)
            #expect(try await fixture.running.token(try fixture.logins.exchange(next)).status == 200)
            try await expectReason("session_ended", of: try fixture.logins.exchange(family.login), fixture)
        }

        @Test func verification() async throws {
            let fixture = try await Fixture.shared
            let login = try await fixture.login()
            var token = fixture.event(SecurityEventType.verification, of: login)
            token.claims["sub_id"] = try JSONText.value(#"{"format":"opaque","id":"stream"}"#)
            let before = try await fixture.digest()
            #expect(try await fixture.send(event: try token.signed()).status == 202)
            #expect(try await fixture.digest() == before)
        }

        /// The JWT does not cover the body: with another body it is refused, and that user lives on.
        @Test func aRevocationIsUsedOnce() async throws {
            let fixture = try await Fixture.shared
            let (first, other) = (try await fixture.family(), try await fixture.family())
            let token = try fixture.revocation().signed()
            let answer = try await fixture.send(revocation: token, #"{"sub_id":\#(fixture.subject(of: first.login))}"#)
            #expect(answer.status == 204 && answer.body.isEmpty && answer["Content-Length"] == nil)
            try await expectReason("session_ended", of: .refresh(first.refreshToken, client: Fixture.target), fixture)
            try await expectRefusal("event_token_replayed", of: other.login, fixture) {
                (
                    try await fixture.send(revocation: token, #"{"sub_id":\#(fixture.subject(of: other.login))}"#),
                    token
                )
            }
        }

        private func expectReason(_ reason: String, of form: TokenForm, _ fixture: Fixture) async throws {
            let answer = try await fixture.running.token(form)
            #expect(answer.text == AnswerContract.unusableBody)
            #expect(try await fixture.sql.auditedReason(of: answer.requestID) == reason)
        }

        /// Expects that `send` is refused, audited and not logged, changes nothing, and that the login lives on.
        private func expectRefusal(
            _ reason: String, of login: Login, _ fixture: Fixture,
            _ send: () async throws -> (HTTPAnswer, token: String)
        ) async throws {
            let before = try await fixture.digest()
            let (answer, token) = try await send()
            #expect((400..<404).contains(answer.status), "\(answer.text)")
            #expect(try await fixture.sql.auditedReason(of: answer.requestID) == reason)
            #expect(try await fixture.digest() == before, "the registry changed")
            #expect(try await fixture.running.token(try fixture.logins.exchange(login)).status == 200)
            if token.utf8.count > 100 { #expect(try !fixture.running.logText().contains(token)) }
        }
    }
}
