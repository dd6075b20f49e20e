import StrictCoding
import BrokerHarness
import Testing

extension Abuse {
    /// Refresh attacks that need several requests.
    struct RefreshScenarioTests {
        private func refresh(_ token: String, _ stage: Stage, client: String = Stage.target) async throws -> HTTPAnswer
        {
            try await stage.running.token(.refresh(token, client: client))
        }

        private func next(_ token: String, _ stage: Stage) async throws -> String {
            let answer = try await refresh(token, stage)
            return try #require(answer.json?.string("refresh_token"), "\(answer.text)")
        }

        /// the successor of a spent token was never used. The broker redelivers it and writes nothing.
        @Test func aLostAnswerIsGivenAgain() async throws {
            let stage = try await Stage.shared
            let chain = try await stage.chain()
            let successor = try await next(chain.refreshToken, stage)
            let before = try await stage.digest()
            #expect(try await next(chain.refreshToken, stage) == successor)
            #expect(try await next(chain.refreshToken, stage) == successor)
            #expect(try await stage.digest() == before)
            #expect(try await stage.state(of: chain) == "2|")
        }

        /// a spent token comes after the grace period.
        @Test func aSpentTokenAfterTheGrace() async throws {
            let stage = try await Stage.shared
            let chain = try await stage.chain()
            _ = try await next(chain.refreshToken, stage)
            try await stage.outliveGrace(chain)
            try await expectRevoked(chain, by: chain.refreshToken, "refresh_token_late", stage)
            // The app recovers with a new exchange.
            #expect(try await stage.running.token(try stage.logins.exchange(chain.login)).status == 200)
        }

        /// a token older than the predecessor revokes the grant for good. Further attempts write nothing.
        @Test func aReplay() async throws {
            let stage = try await Stage.shared
            let chain = try await stage.chain()
            let second = try await next(chain.refreshToken, stage)
            let third = try await next(second, stage)
            try await expectRevoked(chain, by: chain.refreshToken, "refresh_token_reused", stage)
            let before = try await stage.digest()
            for token in [chain.refreshToken, second, third, third] {
                let answer = try await refresh(token, stage)
                #expect(answer.text == AnswerContract.unusableBody)
                #expect(try await stage.auditedReason(of: answer["X-Request-Id"] ?? "") == "grant_revoked")
            }
            #expect(try await stage.digest() == before)
            // V-08: a thief may hold the id_token too, so only a later login may exchange.
            // A sibling's grant stays live.
            let again = try await stage.running.token(try stage.logins.exchange(chain.login))
            #expect(again.text == AnswerContract.unusableBody)
            #expect(try await stage.auditedReason(of: again["X-Request-Id"] ?? "") == "login_after_replay")
            var sibling = try stage.logins.exchange(chain.login)
            sibling["client_id"] = Stage.targetOnly
            #expect(try await stage.running.token(sibling).status == 200)
        }

        /// TM-40: a copy comes late and the thief exchanges a stolen id_token. The app's next refresh proves the theft.
        @Test func aLateCopyIsProofOnceTheSuccessorComes() async throws {
            let stage = try await Stage.shared
            let chain = try await stage.chain()
            let owners = try await next(chain.refreshToken, stage)
            try await stage.outliveGrace(chain)
            try await expectRevoked(chain, by: chain.refreshToken, "refresh_token_late", stage)
            let exchange = try stage.logins.exchange(chain.login)
            let thief = try #require(try await stage.running.token(exchange).json?.string("refresh_token"))
            let owner = try await refresh(owners, stage)
            #expect(owner.text == AnswerContract.unusableBody)
            #expect(try await stage.auditedReason(of: owner["X-Request-Id"] ?? "") == "refresh_token_reused")
            for form in [exchange, .refresh(thief, client: Stage.target)] {
                #expect(try await stage.running.token(form).text == AnswerContract.unusableBody)
            }
            let last = try await stage.running.token(exchange)
            #expect(try await stage.auditedReason(of: last["X-Request-Id"] ?? "") == "login_after_replay")
        }

        /// TM-40: a generation spent before an exchange stays spent.
        @Test func noExchangeWashesACopyOff() async throws {
            let stage = try await Stage.shared
            let chain = try await stage.chain()
            _ = try await next(try await next(chain.refreshToken, stage), stage)
            let exchange = try stage.logins.exchange(chain.login)
            #expect(try await stage.running.token(exchange).status == 200)
            try await expectRevoked(chain, by: chain.refreshToken, "refresh_token_reused", stage)
            let last = try await stage.running.token(exchange)
            #expect(try await stage.auditedReason(of: last["X-Request-Id"] ?? "") == "login_after_replay")
        }

        /// Two parts of one app exchange separately, each for its own scope. This is not reuse:
        /// the broker refuses the replaced token without revoking the grant, and that part exchanges again.
        @Test func twoPartsOfAnAppAreOneHolder() async throws {
            let stage = try await Stage.shared
            let chain = try await stage.chain()
            var other = try stage.logins.exchange(chain.login)
            other["scope"] = "openid"
            var token = try #require(try await stage.running.token(other).json?.string("refresh_token"))
            for _ in 0..<2 { token = try await next(token, stage) }
            let before = try await stage.digest()
            let refused = try await refresh(chain.refreshToken, stage)
            #expect(refused.text == AnswerContract.unusableBody)
            #expect(try await stage.auditedReason(of: refused["X-Request-Id"] ?? "") == "refresh_token_superseded")
            #expect(try await stage.digest() == before)
            _ = try await next(token, stage)
            #expect(try await stage.running.token(try stage.logins.exchange(chain.login)).status == 200)
        }

        /// a guessed token never revokes.
        @Test func aForgedTokenRevokesNothing() async throws {
            let stage = try await Stage.shared
            let chain = try await stage.chain()
            for index in [10, 30, 75] {
                let position = chain.refreshToken.index(chain.refreshToken.startIndex, offsetBy: index)
                var forged = chain.refreshToken
                forged.replaceSubrange(position...position, with: chain.refreshToken[position] == "A" ? "E" : "A")
                #expect(try await refresh(forged, stage).text == AnswerContract.unusableBody)
            }
            #expect(try await refresh(chain.refreshToken, stage).status == 200)
        }

        /// a restored backup predates the token.
        @Test func aTokenAheadOfTheDatabase() async throws {
            let stage = try await Stage.shared
            let chain = try await stage.chain()
            let ahead = try await next(try await next(chain.refreshToken, stage), stage)
            try await stage.sql.rows("SET session_replication_role = replica")  // as a restore would: no trigger asks
            try await stage.setGeneration(of: chain, to: 1)
            try await stage.sql.rows("SET session_replication_role = DEFAULT")
            try await expectRevoked(chain, by: ahead, "state_regressed", stage)
        }

        /// A valid token from another client proves that it was copied.
        @Test func aTokenOfAnotherClient() async throws {
            let stage = try await Stage.shared
            let chain = try await stage.chain()
            try await expectRevoked(
                chain, by: chain.refreshToken, "refresh_token_foreign_client", stage, client: Stage.targetOnly)
        }

        /// a failed revocation is an outage, not a refusal. The next attempt revokes.
        @Test func aRevocationThatCannotBeWritten() async throws {
            let stage = try await Stage.shared
            let chain = try await stage.chain()
            _ = try await next(try await next(chain.refreshToken, stage), stage)
            try await stage.sql.rows(
                """
                CREATE FUNCTION native_sso.fail() RETURNS trigger LANGUAGE plpgsql AS
                $$BEGIN RAISE EXCEPTION 'disk' USING ERRCODE = 'io_error'; END$$
                """)
            try await stage.sql.rows(
                """
                CREATE TRIGGER fail BEFORE UPDATE ON native_sso.sso_grant FOR EACH ROW
                WHEN (NEW.revoked_at IS NOT NULL) EXECUTE FUNCTION native_sso.fail()
                """)
            let failed = try await refresh(chain.refreshToken, stage)
            try await stage.sql.rows("DROP FUNCTION native_sso.fail CASCADE")
            #expect(failed.status == 503 && failed.error == "temporarily_unavailable", "\(failed.text)")
            #expect(try await stage.state(of: chain) == "3|")
            try await expectRevoked(chain, by: chain.refreshToken, "refresh_token_reused", stage)
        }

        /// revoking one app's grant leaves the other app of the same login alone.
        @Test func oneAppOfTwoIsRevoked() async throws {
            let stage = try await Stage.shared
            let chain = try await stage.chain()
            var form = try stage.logins.exchange(chain.login)
            form["client_id"] = Stage.targetOnly
            let other = try #require(try await stage.running.token(form).json?.string("refresh_token"))
            try await stage.revoke(chain)
            #expect(try await refresh(chain.refreshToken, stage).error == "invalid_grant")
            #expect(try await refresh(other, stage, client: Stage.targetOnly).status == 200)
        }

        /// forty requests at once look like one client that retries.
        @Test func fortyAtOnce() async throws {
            let stage = try await Stage.shared
            let chain = try await stage.chain()
            let answers = try await withThrowingTaskGroup(of: HTTPAnswer.self) { group in
                let form = TokenForm.refresh(chain.refreshToken, client: Stage.target)
                for _ in 0..<40 { group.addTask { try await stage.running.settledToken(form) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(answers.allSatisfy { $0.status == 200 }, "\(answers.map(\.status))")
            #expect(Set(answers.map { $0.json?.string("refresh_token") }).count == 1)
            #expect(try await stage.state(of: chain) == "2|")
        }

        private func expectRevoked(
            _ chain: Chain, by token: String, _ reason: String, _ stage: Stage, client: String = Stage.target
        ) async throws {
            let answer = try await refresh(token, stage, client: client)
            #expect(answer.text == AnswerContract.unusableBody)
            let requestID = try #require(answer["X-Request-Id"])
            #expect(try await stage.state(of: chain).hasSuffix("|\(reason)"))
            #expect(try await stage.auditedReason(of: requestID) == reason)
        }
    }
}
