import StrictCoding
import BrokerHarness
import Testing

extension Abuse {
    /// Back-channel logout, genuine and forged.
    struct LogoutScenarioTests {
        @Test(arguments: TokenAttack.ofLogout) func forged(_ attack: TokenAttack) async throws {
            let fixture = try await Fixture.shared
            let login = try await fixture.login()
            var token = fixture.logins.logout(login)
            try attack.bend(&token, fixture)
            let before = try await fixture.digest()
            try await expectRefusal(try token.signed(), attack.reason, fixture)
            #expect(try await fixture.digest() == before, "the registry changed")
            #expect(try await fixture.running.token(try fixture.logins.exchange(login)).status == 200)
        }

        /// L-02, L-09: input that is not a token, and an oversized `jti`.
        @Test(arguments: ["x", "a.b.c", "a.b.c.d.e", String(repeating: "A", count: 200)])
        func noToken(_ text: String) async throws {
            try await expectRefusal(text, "logout_token_malformed", try await Fixture.shared)
        }

        /// L-11: an id_token is no logout token.
        @Test func anIDToken() async throws {
            let fixture = try await Fixture.shared
            let login = try await fixture.login()
            try await expectRefusal(try login.token.signed(), "logout_token_wrong_typ", fixture)
            #expect(try await fixture.running.token(try fixture.logins.exchange(login)).status == 200)
        }

        /// L-12: a logout token is no id_token.
        @Test func asSubjectToken() async throws {
            let fixture = try await Fixture.shared
            let login = try await fixture.login()
            var form = try fixture.logins.exchange(login)
            var token = fixture.logins.logout(login)
            for (type, reason) in [
                ("logout+jwt", "subject_token_wrong_typ"), ("JWT", "subject_token_is_logout_token"),
            ] {
                token.header["typ"] = .string(type)
                for claim in login.token.claims.members where token.claims[claim.name] == nil {
                    token.claims[claim.name] = claim.value
                }
                form["subject_token"] = try token.signed()
                let answer = try await fixture.running.token(form)
                #expect(answer.error == "invalid_request")
                #expect(try await fixture.sql.auditedReason(of: answer.requestID) == reason)
            }
        }

        /// L-13: a sid belongs to its issuer.
        @Test func aSIDOfAnotherIssuer() async throws {
            let fixture = try await Fixture.shared
            let login = try await fixture.login()
            let token = LogoutToken(
                issuer: fixture.otherIssuer, audience: Fixture.atOtherIssuer, sid: login.sid,
                key: fixture.keys.otherIssuer)
            #expect(try await fixture.running.logout(token).status == 200)
            #expect(try await fixture.running.token(try fixture.logins.exchange(login)).status == 200)
        }

        /// L-15, X-04, K-26: a logout with `sid` ends one session and its grants, not the user's other sessions.
        @Test func oneSession() async throws {
            let fixture = try await Fixture.shared
            let family = try await fixture.family()
            var other = fixture.logins.login()
            other.token.claims["sub"] = family.login.token.claims["sub"]
            #expect(try await fixture.running.token(try fixture.logins.exchange(other)).status == 200)
            let answer = try await fixture.running.logout(fixture.logins.logout(family.login))
            #expect(answer.status == 200 && answer.text == "{}")
            #expect(answer["Cache-Control"] == "no-store")
            try await expectDead(family.login, family.refreshToken, fixture)
            #expect(try await fixture.running.token(try fixture.logins.exchange(other)).status == 200)
        }

        /// L-14: a logout by `sub` ends all of the user's sessions, on every device.
        @Test func everySession() async throws {
            let fixture = try await Fixture.shared
            let first = try await fixture.family()
            var other = fixture.logins.login()
            other.token.claims["sub"] = first.login.token.claims["sub"]
            let exchanged = try await fixture.running.token(try fixture.logins.exchange(other))
            let second = try #require(exchanged.json?.string("refresh_token"))
            let bystander = try await fixture.family()
            #expect(try await fixture.running.logout(fixture.logins.logoutEverywhere(first.login)).status == 200)
            try await expectDead(first.login, first.refreshToken, fixture)
            try await expectDead(other, second, fixture)
            #expect(
                try await fixture.running.token(.refresh(bystander.refreshToken, client: Fixture.target)).status == 200)
        }

        /// L-16: logging out an unknown or ended session succeeds, and so does the same logout token again.
        @Test func again() async throws {
            let fixture = try await Fixture.shared
            let login = fixture.logins.login()
            let token = fixture.logins.logout(login)
            for _ in 0..<2 { #expect(try await fixture.running.logout(token).status == 200) }
            #expect(try await fixture.running.logout(fixture.logins.logout(login)).status == 200)
            // A login that arrives after its logout stays dead.
            let late = try await fixture.running.token(try fixture.logins.exchange(login))
            #expect(late.text == AnswerContract.unusableBody)
            #expect(try await fixture.sql.auditedReason(of: late.requestID) == "session_ended")
        }

        /// A logout by `sub` also blocks earlier logins that arrive later. Logins made after it work.
        @Test func aLoginFromBeforeTheLogout() async throws {
            let fixture = try await Fixture.shared
            var login = fixture.logins.login()
            #expect(try await fixture.running.logout(fixture.logins.logoutEverywhere(login)).status == 200)
            let late = try await fixture.running.token(try fixture.logins.exchange(login))
            #expect(late.text == AnswerContract.unusableBody)
            #expect(try await fixture.sql.auditedReason(of: late.requestID) == "session_ended")
            login.token.claims["sid"] = .string(Unguessable.make())
            login.token.claims["iat"] = .number(JSONNumber(fixture.now + 30))
            login.token.claims["auth_time"] = .number(JSONNumber(fixture.now + 30))
            #expect(try await fixture.running.token(try fixture.logins.exchange(login)).status == 200)
        }

        private func expectDead(_ login: Login, _ refreshToken: String, _ fixture: Fixture) async throws {
            let refreshed = try await fixture.running.token(.refresh(refreshToken, client: Fixture.target))
            #expect(refreshed.text == AnswerContract.unusableBody)
            #expect(try await fixture.sql.auditedReason(of: refreshed.requestID) == "session_ended")
            #expect(
                try await fixture.running.token(try fixture.logins.exchange(login)).text == AnswerContract.unusableBody)
        }

        private func expectRefusal(_ token: String, _ reason: String, _ fixture: Fixture) async throws {
            let answer = try await HTTPRequest.logout(token).send(to: fixture.running.internalPort)
            #expect(answer.status == 400 && answer.error == "invalid_request", "\(answer.text)")
            #expect(answer.keepsContract)
            #expect(try await fixture.sql.auditedReason(of: answer.requestID) == reason)
            if token.utf8.count > 100 { #expect(try !fixture.running.logText().contains(token)) }
        }
    }
}
