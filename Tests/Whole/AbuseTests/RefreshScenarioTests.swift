import BrokerHarness
import BrokerTesting
import StrictCoding
import Testing

extension Abuse {
    /// Refresh attacks that need several requests.
    struct RefreshScenarioTests {
        private func next(_ token: String, _ fixture: Fixture) async throws -> String {
            try await fixture.expectGranted(fixture.logins.refresh(token))
        }

        /// a token older than the predecessor revokes the grant for good, and leaves the grant of another
        /// app in the same login alone. Further attempts write nothing.
        @Test func aReplay() async throws {
            let fixture = try await Fixture.shared
            let family = try await fixture.family()
            let second = try await next(family.refreshToken, fixture)
            let third = try await next(second, fixture)
            var exchange = try fixture.logins.exchange(family.login)
            exchange["client_id"] = Fixture.targetOnly
            let sibling = try await fixture.expectGranted(exchange)
            try await expectRevoked(family, by: family.refreshToken, "refresh_token_reused", fixture)
            let before = try await fixture.digest()
            for token in [family.refreshToken, second, third, third] {
                try await fixture.expectUnusable(fixture.logins.refresh(token), "grant_revoked")
            }
            #expect(try await fixture.digest() == before)
            // V-08: a thief may hold the id_token too, so only a later login may exchange.
            try await fixture.expectUnusable(try fixture.logins.exchange(family.login), "login_after_replay")
            try await fixture.expectGranted(.refresh(sibling, client: Fixture.targetOnly))
        }

        /// R-09, TM-40: a copy comes after the grace period and the thief exchanges a stolen id_token, as the app could.
        /// The app's next refresh proves the theft.
        @Test func aLateCopyIsProofOnceTheSuccessorComes() async throws {
            let fixture = try await Fixture.shared
            let family = try await fixture.family()
            let owners = try await next(family.refreshToken, fixture)
            try await fixture.outliveGrace(family)
            try await expectRevoked(family, by: family.refreshToken, "refresh_token_late", fixture)
            let exchange = try fixture.logins.exchange(family.login)
            let thief = try await fixture.expectGranted(exchange)
            try await fixture.expectUnusable(fixture.logins.refresh(owners), "refresh_token_reused")
            let refused = try await fixture.running.token(fixture.logins.refresh(thief))
            #expect(refused.text == AnswerContract.unusableBody)
            try await fixture.expectUnusable(exchange, "login_after_replay")
        }

        /// TM-40: a generation spent before an exchange stays spent.
        @Test func noExchangeWashesACopyOff() async throws {
            let fixture = try await Fixture.shared
            let family = try await fixture.family()
            _ = try await next(try await next(family.refreshToken, fixture), fixture)
            let exchange = try fixture.logins.exchange(family.login)
            try await fixture.expectGranted(exchange)
            try await expectRevoked(family, by: family.refreshToken, "refresh_token_reused", fixture)
            try await fixture.expectUnusable(exchange, "login_after_replay")
        }

        /// Two parts of one app exchange separately, each for its own scope. This is not reuse:
        /// the broker refuses the replaced token without revoking the grant, and that part exchanges again.
        @Test func twoPartsOfAnAppAreOneHolder() async throws {
            let fixture = try await Fixture.shared
            let family = try await fixture.family()
            var other = try fixture.logins.exchange(family.login)
            other["scope"] = "openid"
            var token = try await fixture.expectGranted(other)
            for _ in 0..<2 { token = try await next(token, fixture) }
            let before = try await fixture.digest()
            try await fixture.expectUnusable(fixture.logins.refresh(family.refreshToken), "refresh_token_superseded")
            #expect(try await fixture.digest() == before)
            _ = try await next(token, fixture)
            try await fixture.expectGranted(try fixture.logins.exchange(family.login))
        }

        /// A valid token from another client proves that it was copied.
        @Test func aTokenOfAnotherClient() async throws {
            let fixture = try await Fixture.shared
            let family = try await fixture.family()
            try await expectRevoked(
                family, by: family.refreshToken, "refresh_token_foreign_client", fixture, client: Fixture.targetOnly)
        }

        /// a failed revocation is an outage, not a refusal. The next attempt revokes.
        @Test func aRevocationThatCannotBeWritten() async throws {
            let fixture = try await Fixture.shared
            let family = try await fixture.family()
            _ = try await next(try await next(family.refreshToken, fixture), fixture)
            try await fixture.sql.rows(
                """
                CREATE FUNCTION native_sso.fail() RETURNS trigger LANGUAGE plpgsql AS
                $$BEGIN RAISE EXCEPTION 'disk' USING ERRCODE = 'io_error'; END$$
                """)
            try await fixture.sql.rows(
                """
                CREATE TRIGGER fail BEFORE UPDATE ON native_sso.sso_grant FOR EACH ROW
                WHEN (NEW.revoked_at IS NOT NULL) EXECUTE FUNCTION native_sso.fail()
                """)
            let failed = try await fixture.running.token(fixture.logins.refresh(family.refreshToken))
            try await fixture.sql.rows("DROP FUNCTION native_sso.fail CASCADE")
            #expect(failed.status == 503 && failed.error == "temporarily_unavailable", "\(failed.text)")
            #expect(try await fixture.state(of: family) == "3|")
            try await expectRevoked(family, by: family.refreshToken, "refresh_token_reused", fixture)
        }

        /// forty requests at once look like one client that retries. All get the same successor.
        @Test func fortyAtOnce() async throws {
            let fixture = try await Fixture.shared
            let family = try await fixture.family()
            let form = TokenForm.refresh(family.refreshToken, client: Fixture.target)
            let answers = try await atOnce(40) { try await fixture.running.settledToken(form) }
            #expect(answers.allSatisfy { $0.status == 200 }, "\(answers.map(\.status))")
            #expect(Set(answers.map { $0.json?.string("refresh_token") }).count == 1)
            #expect(try await fixture.state(of: family) == "2|")
        }

        private func expectRevoked(
            _ family: TokenFamily, by token: String, _ reason: String, _ fixture: Fixture,
            client: String = Fixture.target
        ) async throws {
            let answer = try await fixture.running.token(.refresh(token, client: client))
            #expect(try await fixture.state(of: family).hasSuffix("|\(reason)"))
            try await fixture.expectUnusable(answer, reason)
        }
    }
}
