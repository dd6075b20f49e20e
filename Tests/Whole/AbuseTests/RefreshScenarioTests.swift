import BrokerHarness
import BrokerTesting
import StrictCoding
import Testing

extension Abuse {
    /// Refresh attacks that need several requests.
    struct RefreshScenarioTests {
        private func refresh(_ token: String, _ fixture: Fixture, client: String = Fixture.target) async throws
            -> HTTPAnswer
        {
            try await fixture.running.token(.refresh(token, client: client))
        }

        private func next(_ token: String, _ fixture: Fixture) async throws -> String {
            let answer = try await refresh(token, fixture)
            return try #require(answer.json?.string("refresh_token"), "\(answer.text)")
        }

        /// the successor of a spent token was never used. The broker redelivers it and writes nothing.
        @Test func aLostAnswerIsGivenAgain() async throws {
            let fixture = try await Fixture.shared
            let family = try await fixture.family()
            let successor = try await next(family.refreshToken, fixture)
            let before = try await fixture.digest()
            #expect(try await next(family.refreshToken, fixture) == successor)
            #expect(try await next(family.refreshToken, fixture) == successor)
            #expect(try await fixture.digest() == before)
            #expect(try await fixture.state(of: family) == "2|")
        }

        /// a spent token comes after the grace period.
        @Test func aSpentTokenAfterTheGrace() async throws {
            let fixture = try await Fixture.shared
            let family = try await fixture.family()
            _ = try await next(family.refreshToken, fixture)
            try await fixture.outliveGrace(family)
            try await expectRevoked(family, by: family.refreshToken, "refresh_token_late", fixture)
            // The app recovers with a new exchange.
            #expect(try await fixture.running.token(try fixture.logins.exchange(family.login)).status == 200)
        }

        /// a token older than the predecessor revokes the grant for good. Further attempts write nothing.
        @Test func aReplay() async throws {
            let fixture = try await Fixture.shared
            let family = try await fixture.family()
            let second = try await next(family.refreshToken, fixture)
            let third = try await next(second, fixture)
            try await expectRevoked(family, by: family.refreshToken, "refresh_token_reused", fixture)
            let before = try await fixture.digest()
            for token in [family.refreshToken, second, third, third] {
                let answer = try await refresh(token, fixture)
                #expect(answer.text == AnswerContract.unusableBody)
                #expect(try await fixture.sql.auditedReason(of: answer.requestID) == "grant_revoked")
            }
            #expect(try await fixture.digest() == before)
            // V-08: a thief may hold the id_token too, so only a later login may exchange.
            // A sibling's grant stays live.
            let again = try await fixture.running.token(try fixture.logins.exchange(family.login))
            #expect(again.text == AnswerContract.unusableBody)
            #expect(try await fixture.sql.auditedReason(of: again.requestID) == "login_after_replay")
            var sibling = try fixture.logins.exchange(family.login)
            sibling["client_id"] = Fixture.targetOnly
            #expect(try await fixture.running.token(sibling).status == 200)
        }

        /// TM-40: a copy comes late and the thief exchanges a stolen id_token. The app's next refresh proves the theft.
        @Test func aLateCopyIsProofOnceTheSuccessorComes() async throws {
            let fixture = try await Fixture.shared
            let family = try await fixture.family()
            let owners = try await next(family.refreshToken, fixture)
            try await fixture.outliveGrace(family)
            try await expectRevoked(family, by: family.refreshToken, "refresh_token_late", fixture)
            let exchange = try fixture.logins.exchange(family.login)
            let thief = try #require(try await fixture.running.token(exchange).json?.string("refresh_token"))
            let owner = try await refresh(owners, fixture)
            #expect(owner.text == AnswerContract.unusableBody)
            #expect(try await fixture.sql.auditedReason(of: owner.requestID) == "refresh_token_reused")
            for form in [exchange, .refresh(thief, client: Fixture.target)] {
                #expect(try await fixture.running.token(form).text == AnswerContract.unusableBody)
            }
            let last = try await fixture.running.token(exchange)
            #expect(try await fixture.sql.auditedReason(of: last.requestID) == "login_after_replay")
        }

        /// TM-40: a generation spent before an exchange stays spent.
        @Test func noExchangeWashesACopyOff() async throws {
            let fixture = try await Fixture.shared
            let family = try await fixture.family()
            _ = try await next(try await next(family.refreshToken, fixture), fixture)
            let exchange = try fixture.logins.exchange(family.login)
            #expect(try await fixture.running.token(exchange).status == 200)
            try await expectRevoked(family, by: family.refreshToken, "refresh_token_reused", fixture)
            let last = try await fixture.running.token(exchange)
            #expect(try await fixture.sql.auditedReason(of: last.requestID) == "login_after_replay")
        }

        /// Two parts of one app exchange separately, each for its own scope. This is not reuse:
        /// the broker refuses the replaced token without revoking the grant, and that part exchanges again.
        @Test func twoPartsOfAnAppAreOneHolder() async throws {
            let fixture = try await Fixture.shared
            let family = try await fixture.family()
            var other = try fixture.logins.exchange(family.login)
            other["scope"] = "openid"
            var token = try #require(try await fixture.running.token(other).json?.string("refresh_token"))
            for _ in 0..<2 { token = try await next(token, fixture) }
            let before = try await fixture.digest()
            let refused = try await refresh(family.refreshToken, fixture)
            #expect(refused.text == AnswerContract.unusableBody)
            #expect(try await fixture.sql.auditedReason(of: refused.requestID) == "refresh_token_superseded")
            #expect(try await fixture.digest() == before)
            _ = try await next(token, fixture)
            #expect(try await fixture.running.token(try fixture.logins.exchange(family.login)).status == 200)
        }

        /// a guessed token never revokes.
        @Test func aForgedTokenRevokesNothing() async throws {
            let fixture = try await Fixture.shared
            let family = try await fixture.family()
            for index in [10, 30, 75] {
                let position = family.refreshToken.index(family.refreshToken.startIndex, offsetBy: index)
                var forged = family.refreshToken
                forged.replaceSubrange(position...position, with: family.refreshToken[position] == "A" ? "E" : "A")
                #expect(try await refresh(forged, fixture).text == AnswerContract.unusableBody)
            }
            #expect(try await refresh(family.refreshToken, fixture).status == 200)
        }

        /// a restored backup predates the token.
        @Test func aTokenAheadOfTheDatabase() async throws {
            let fixture = try await Fixture.shared
            let family = try await fixture.family()
            let ahead = try await next(try await next(family.refreshToken, fixture), fixture)
            try await fixture.sql.rows("SET session_replication_role = replica")  // as a restore would: no trigger asks
            try await fixture.setGeneration(of: family, to: 1)
            try await fixture.sql.rows("SET session_replication_role = DEFAULT")
            try await expectRevoked(family, by: ahead, "state_regressed", fixture)
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
            let failed = try await refresh(family.refreshToken, fixture)
            try await fixture.sql.rows("DROP FUNCTION native_sso.fail CASCADE")
            #expect(failed.status == 503 && failed.error == "temporarily_unavailable", "\(failed.text)")
            #expect(try await fixture.state(of: family) == "3|")
            try await expectRevoked(family, by: family.refreshToken, "refresh_token_reused", fixture)
        }

        /// revoking one app's grant leaves the other app of the same login alone.
        @Test func oneAppOfTwoIsRevoked() async throws {
            let fixture = try await Fixture.shared
            let family = try await fixture.family()
            var form = try fixture.logins.exchange(family.login)
            form["client_id"] = Fixture.targetOnly
            let other = try #require(try await fixture.running.token(form).json?.string("refresh_token"))
            try await fixture.revoke(family)
            #expect(try await refresh(family.refreshToken, fixture).error == "invalid_grant")
            #expect(try await refresh(other, fixture, client: Fixture.targetOnly).status == 200)
        }

        /// forty requests at once look like one client that retries.
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
            let answer = try await refresh(token, fixture, client: client)
            #expect(answer.text == AnswerContract.unusableBody)
            let requestID = try #require(answer["X-Request-Id"])
            #expect(try await fixture.state(of: family).hasSuffix("|\(reason)"))
            #expect(try await fixture.sql.auditedReason(of: requestID) == reason)
        }
    }
}
