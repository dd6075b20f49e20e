import PrivateCluster
import BrokerHarness
import Testing

extension ReplicationFaults {
    struct FailoverTests {
        /// The primary dies: an outage. Its standby is promoted: everything goes on where it stood, at the same broker.
        @Test func theStandbyTakesOver() async throws {
            let stage = try await ReplicationFaults.stage
            let (broker, logins) = (try await stage.startBroker(), stage.logins())
            let chain = try await logins.chain(at: broker)
            let ended = try await logins.chain(at: broker)
            #expect(try await stage.end(ended.login) == 0)
            try await stage.pair.killPrimary()
            #expect(try await broker.token(logins.refresh(chain.refreshToken)).isOutage)
            #expect(try await broker.token(logins.refresh(ended.refreshToken)).isOutage)
            #expect(try await broker.readiness() == 503)

            try await stage.pair.promoteStandby()
            try await broker.untilReady()
            let answer = try await broker.token(logins.refresh(chain.refreshToken))
            #expect(answer.status == 200, "\(answer.text)")
            #expect(try await stage.state(of: chain.login) == "2|f")
            #expect(try await broker.token(logins.refresh(ended.refreshToken)).outcome == .refused)
            let exchange = try await broker.token(try logins.exchange(ended.login))
            #expect(exchange.outcome == .refused, "\(exchange.text)")
            try await stage.pair.rejoin()
            await broker.process.terminate()
        }

        /// The standby had not all that was acknowledged, because nobody made the primary wait for it. Its promotion begins
        /// a new timeline, which hides the gap from the broker; the token that is ahead of the database does not. The app
        /// has to use its login anew, and of two chains at most one is alive.
        @Test func writesThatWereLost() async throws {
            let stage = try await ReplicationFaults.stage
            let (pair, logins, ledger) = (stage.pair, stage.logins(), Ledger())
            let wire = Wire(ledger: ledger, brokers: [try await stage.startBroker()])
            let chain = try await logins.chain(at: wire.brokers[0])
            try await pair.standby.kill9()
            try await pair.primary.requireConfirmation(by: nil)
            func refresh(_ token: String) async throws -> LedgerEntry.Outcome? {
                let presented = try #require(RefreshToken(token))
                let answer = await wire.send(
                    .refresh(presented), logins.refresh(token), session: chain.login.sid, app: logins.target, to: 0)
                return if case .outcome(let outcome) = answer { outcome } else { nil }
            }
            guard case .granted(let second) = try await refresh(chain.refreshToken) else {
                throw Unexpected.noGrant
            }
            try await pair.killPrimary()
            try await pair.standby.restart()
            try await pair.promoteStandby()
            #expect(try await stage.state(of: chain.login) == "1|f")
            // The loss is a real one, and the ledger sees it.
            let final = try await stage.finalState()
            #expect(
                LedgerChecker(grace: .seconds(60)).violations(in: ledger.entries, final) == [
                    .rotationLost(grant: second.grant, acknowledged: 2, found: 1)
                ])

            try await wire.brokers[0].untilReady()
            #expect(try await refresh(second.text) == .refused)
            #expect(try await stage.state(of: chain.login) == "1|t")
            let reason = "SELECT revoke_reason FROM native_sso.sso_grant WHERE grant_id = '\(second.grant)'"
            #expect(try await stage.rows(reason) == "state_regressed")
            #expect(try await refresh(chain.refreshToken) == .refused)
            let anew = try await wire.brokers[0].token(try logins.exchange(chain.login))
            #expect(anew.status == 200, "\(anew.text)")
            try await pair.rejoin()
            await wire.brokers[0].process.terminate()
        }

        /// After a failover the old primary comes back as if nothing had happened, and takes writes. A broker that has seen
        /// the new one does not believe it, whatever else is down.
        @Test func theOldPrimaryComesBack() async throws {
            let stage = try await ReplicationFaults.stage
            let (pair, broker, logins) = (stage.pair, try await stage.startBroker(), stage.logins())
            let chain = try await logins.chain(at: broker)
            try await pair.killPrimary()
            try await pair.promoteStandby()
            try await broker.untilReady()
            let rotated = try await broker.token(logins.refresh(chain.refreshToken))
            let second = try #require(rotated.refreshToken, "\(rotated.text)")

            let (new, old) = (await pair.primary, await pair.standby)
            try await old.restart()
            #expect(try await !old.isStandby)
            try await pair.killPrimary()
            try await broker.untilLogged("database_went_backwards")
            for token in [chain.refreshToken, second] {
                #expect(try await broker.token(logins.refresh(token)).isOutage)
            }
            #expect(try await broker.readiness() == 503)

            try await new.restart()
            try await broker.untilReady()
            #expect(try await broker.token(logins.refresh(second)).status == 200)
            #expect(try await stage.state(of: chain.login) == "3|f")
            try await pair.rejoin()
            await broker.process.terminate()
        }

        /// The primary is frozen, its standby promoted, and then the old one runs on, with connections that the broker
        /// still holds: it goes on with the new one, and what was ended there stays ended.
        @Test func aPrimaryThatIsReplacedWhileItHangs() async throws {
            let stage = try await ReplicationFaults.stage
            let (pair, broker, logins) = (stage.pair, try await stage.startBroker(), stage.logins())
            let (chain, other) = (try await logins.chain(at: broker), try await logins.chain(at: broker))
            // Its answer is lost: the retry is answered without a write, which no standby would have to confirm.
            #expect(try await broker.token(logins.refresh(chain.refreshToken)).status == 200)

            try await pair.primary.suspend()
            #expect(try await broker.token(logins.refresh(other.refreshToken)).isOutage)
            try await pair.promoteStandby()
            _ = try await eventually("a success on the new primary") {
                try await broker.token(logins.refresh(other.refreshToken)).status == 200 ? true : nil
            }
            #expect(try await stage.state(of: other.login) == "2|f")
            let session = "SELECT session_id FROM native_sso.session WHERE sid = '\(chain.login.sid)'"
            try await stage.rows("SELECT native_sso.end_sessions(ARRAY(\(session)), 'test', 'test', NULL)")

            try await pair.standby.resume()
            let answers = try await stage.atOnce(64, logins.refresh(chain.refreshToken), at: broker)
            #expect(answers.allSatisfy { $0.outcome == .refused || $0.isOutage }, "\(answers.map(\.status))")
            try await pair.rejoin()
            await broker.process.terminate()
        }
    }

    enum Unexpected: Error {
        case noGrant
    }
}
