import BrokerHarness
import StrictCoding
import Testing

extension Abuse {
    /// Back-channel logout, genuine and forged.
    struct LogoutScenarioTests {
        @Test func forged() async throws {
            let fixture = try await Fixture.shared
            let login = try await fixture.login()
            try await expectRefusals(
                try TokenAttack.ofLogout.map { try $0.forged(from: fixture.logins.logout(login), fixture) },
                of: login, fixture)
        }

        /// L-02, L-09, L-11: an id_token, and what is no token.
        @Test func noToken() async throws {
            let fixture = try await Fixture.shared
            let login = try await fixture.login()
            var tokens: [TokenAttack.Forged] = [
                ("an id_token", try login.token.signed(), "logout_token_wrong_typ")
            ]
            for text in ["x", "a.b.c", "a.b.c.d.e", String(repeating: "A", count: 200)] {
                tokens.append((text, text, "logout_token_malformed"))
            }
            try await expectRefusals(tokens, of: login, fixture)
        }

        /// L-13: a sid belongs to its issuer.
        @Test func aSIDOfAnotherIssuer() async throws {
            let fixture = try await Fixture.shared
            let login = try await fixture.login()
            let token = LogoutToken(
                issuer: fixture.otherIssuer, audience: Fixture.atOtherIssuer, sid: login.sid,
                key: fixture.keys.otherIssuer)
            #expect(try await fixture.running.logout(token).status == 200)
            try await fixture.expectGranted(try fixture.logins.exchange(login))
        }

        /// L-15, X-04, K-26: a logout with `sid` ends one session and its grants, not the user's other sessions.
        @Test func oneSession() async throws {
            let fixture = try await Fixture.shared
            let family = try await fixture.family()
            let other = fixture.login(ofUserOf: family.login)
            try await fixture.expectGranted(try fixture.logins.exchange(other))
            let answer = try await fixture.running.logout(fixture.logins.logout(family.login))
            #expect(answer.status == 200 && answer.text == "{}" && answer["Cache-Control"] == "no-store")
            try await expectDead(family.login, family.refreshToken, fixture)
            try await fixture.expectGranted(try fixture.logins.exchange(other))
        }

        /// L-14: a logout by `sub` ends all of the user's sessions, on every device.
        @Test func everySession() async throws {
            let fixture = try await Fixture.shared
            let (first, bystander) = (try await fixture.family(), try await fixture.family())
            let other = fixture.login(ofUserOf: first.login)
            let second = try await fixture.expectGranted(try fixture.logins.exchange(other))
            #expect(try await fixture.running.logout(fixture.logins.logoutEverywhere(first.login)).status == 200)
            try await expectDead(first.login, first.refreshToken, fixture)
            try await expectDead(other, second, fixture)
            try await fixture.expectGranted(fixture.logins.refresh(bystander.refreshToken))
        }

        /// L-16: logging out an unknown or ended session succeeds, and so does the same logout token again.
        @Test func again() async throws {
            let fixture = try await Fixture.shared
            let login = fixture.logins.login()
            let token = fixture.logins.logout(login)
            for token in [token, token, fixture.logins.logout(login)] {
                #expect(try await fixture.running.logout(token).status == 200)
            }
            // A login that arrives after its logout stays dead.
            try await fixture.expectUnusable(try fixture.logins.exchange(login), "session_ended")
        }

        /// A logout by `sub` also blocks earlier logins that arrive later. Logins made after it work.
        @Test func aLoginFromBeforeTheLogout() async throws {
            let fixture = try await Fixture.shared
            var login = fixture.logins.login()
            #expect(try await fixture.running.logout(fixture.logins.logoutEverywhere(login)).status == 200)
            try await fixture.expectUnusable(try fixture.logins.exchange(login), "session_ended")
            login.token.claims["sid"] = .string(Unguessable.make())
            login.token.claims["iat"] = .number(JSONNumber(fixture.now + 30))
            login.token.claims["auth_time"] = .number(JSONNumber(fixture.now + 30))
            try await fixture.expectGranted(try fixture.logins.exchange(login))
        }

        private func expectDead(_ login: Login, _ refreshToken: String, _ fixture: Fixture) async throws {
            try await fixture.expectUnusable(fixture.logins.refresh(refreshToken), "session_ended")
            try await fixture.expectUnusable(try fixture.logins.exchange(login), "session_ended")
        }

        private func expectRefusals(
            _ tokens: [TokenAttack.Forged], of login: Login, _ fixture: Fixture
        ) async throws {
            try await fixture.expectRefusals(tokens, of: login) { token in
                let answer = try await HTTPRequest.logout(token).send(to: fixture.running.internalPort)
                #expect(answer.status == 400 && answer.keepsContract)
                #expect(answer.error == "invalid_request" || answer.isUndecided)
                return answer
            }
        }
    }
}
