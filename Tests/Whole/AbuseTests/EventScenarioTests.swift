import BrokerHarness
import StrictCoding
import Testing

extension Abuse {
    /// Security events and global token revocations, genuine and forged.
    struct EventScenarioTests {
        @Test func forgedEvent() async throws {
            let fixture = try await Fixture.shared
            let login = try await fixture.login()
            let good = fixture.event(SecurityEventType.sessionRevoked, of: login)
            let forged = try TokenAttack.ofEvents.map { try $0.forged(from: good, fixture) }
            let others: [TokenAttack.Forged] = [
                ("an id_token", try login.token.signed(), "event_token_wrong_typ"),
                ("a logout", try fixture.logins.logoutEverywhere(login).signed(), "event_token_wrong_typ"),
                ("a revocation", try fixture.revocation().signed(), "event_token_wrong_typ"),
                ("three parts", "a.b.c", "event_token_malformed"), ("five", "a.b.c.d.e", "event_token_malformed"),
            ]
            try await fixture.expectRefusals(forged + others, of: login) {
                let answer = try await fixture.send(event: $0)
                #expect(answer.status == 400 || answer.isUndecided, "\(answer.text)")
                #expect(answer.json?.names == ["err", "description"])
                return answer
            }
        }

        @Test func forgedRevocation() async throws {
            let fixture = try await Fixture.shared
            let login = try await fixture.login()
            let event = try fixture.event(SecurityEventType.sessionRevoked, of: login).signed()
            var forged = try TokenAttack.ofRevocations.map { try $0.forged(from: fixture.revocation(), fixture) }
            forged.append(("a security event", event, "event_token_wrong_typ"))
            try await fixture.expectRefusals(forged, of: login) {
                let answer = try await fixture.send(revocation: $0, about: login)
                #expect(
                    answer.status == 401 && answer.error == "invalid_token" || answer.isUndecided, "\(answer.text)")
                #expect(answer["WWW-Authenticate"] == #"Bearer error="invalid_token""#)
                return answer
            }
        }

        /// A good JWT with a wrong body ends nothing.
        @Test func wrongBody() async throws {
            let fixture = try await Fixture.shared
            let login = try await fixture.login()
            for (body, reason, status) in [
                ("", "event_body_malformed", 400), ("[]", "event_body_malformed", 400),
                (#"{"sub_id":{},"sub_id":{}}"#, "event_body_malformed", 400), ("{}", "event_subject_missing", 400),
                (#"{"sub_id":{"format":"email","email":"a@example.com"}}"#, "event_subject_format", 400),
                (#"{"sub_id":{"format":"opaque","id":"user"}}"#, "event_subject_format", 400),
                (
                    #"{"sub_id":{"format":"iss_sub","iss":"https://evil.example","sub":"user"}}"#,
                    "event_subject_foreign", 403
                ),
            ] {
                try await fixture.expectRefusals([(body, try fixture.revocation().signed(), reason)], of: login) {
                    let answer = try await fixture.send(revocation: $0, body)
                    #expect(answer.status == status && answer.error == "invalid_request", "\(answer.text)")
                    return answer
                }
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
            try await fixture.expectUnusable(fixture.logins.refresh(first.refreshToken), "session_ended")
            try await fixture.expectUnusable(try fixture.logins.exchange(first.login), "session_ended")
            // A token that comes again changes nothing, nor does one that only asks whether the stream works.
            var verification = fixture.event(SecurityEventType.verification, of: bystander.login)
            verification.claims["sub_id"] = try JSONText.value(#"{"format":"opaque","id":"stream"}"#)
            let before = try await fixture.digest()
            for text in [text, try verification.signed()] { #expect(try await fixture.send(event: text).status == 202) }
            #expect(try await fixture.digest() == before)
            try await fixture.expectGranted(fixture.logins.refresh(bystander.refreshToken))
        }

        @Test func accountDisabled() async throws {
            let fixture = try await Fixture.shared
            let family = try await fixture.family()
            let disabled = fixture.event(SecurityEventType.accountDisabled, of: family.login)
            #expect(try await fixture.send(event: try disabled.signed()).status == 202)
            try await fixture.expectUnusable(fixture.logins.refresh(family.refreshToken), "session_ended")
            var next = fixture.login(ofUserOf: family.login)
            for claim in ["iat", "auth_time"] { next.token.claims[claim] = .number(JSONNumber(fixture.now + 30)) }
            try await fixture.expectUnusable(try fixture.logins.exchange(next), "account_disabled")
            let enabled = fixture.event(SecurityEventType.accountEnabled, of: family.login)
            #expect(try await fixture.send(event: try enabled.signed()).status == 202)
            try await fixture.expectGranted(try fixture.logins.exchange(next))
            try await fixture.expectUnusable(try fixture.logins.exchange(family.login), "session_ended")
        }

        /// The JWT does not cover the body: with another body it is refused, and that user lives on.
        @Test func aRevocationIsUsedOnce() async throws {
            let fixture = try await Fixture.shared
            let (first, other) = (try await fixture.family(), try await fixture.family())
            let token = try fixture.revocation().signed()
            let answer = try await fixture.send(revocation: token, about: first.login)
            #expect(answer.status == 204 && answer.body.isEmpty && answer["Content-Length"] == nil)
            try await fixture.expectUnusable(fixture.logins.refresh(first.refreshToken), "session_ended")
            try await fixture.expectRefusals([("again", token, "event_token_replayed")], of: other.login) {
                try await fixture.send(revocation: $0, about: other.login)
            }
        }
    }
}
