import BrokerHarness
import BrokerTesting
import PrivateCluster
import Testing

extension ReplicationFaults {
    struct FailoverTests {
        /// The primary dies: an outage. Its standby is promoted: everything goes on where it stood, at the same broker.
        @Test func theStandbyTakesOver() async throws {
            let fixture = try await ReplicationFaults.fixture
            let (broker, logins) = (try await fixture.startBroker(), fixture.logins())
            let family = try await logins.family(at: broker)
            let ended = try await logins.family(at: broker)
            #expect(try await fixture.end(ended.login) == 0)
            try await fixture.pair.killPrimary()
            #expect(try await broker.token(logins.refresh(family.refreshToken)).isOutage)
            #expect(try await broker.token(logins.refresh(ended.refreshToken)).isOutage)
            #expect(try await broker.readiness() == 503)

            try await fixture.pair.promoteStandby()
            try await broker.untilReady()
            let answer = try await broker.token(logins.refresh(family.refreshToken))
            #expect(answer.status == 200, "\(answer.text)")
            #expect(try await fixture.state(of: family.login) == "2|f")
            #expect(try await broker.token(logins.refresh(ended.refreshToken)).outcome == .refused)
            let exchange = try await broker.token(try logins.exchange(ended.login))
            #expect(exchange.outcome == .refused, "\(exchange.text)")
            try await fixture.pair.rejoin()
            await broker.process.terminate()
        }

        /// The primary did not wait for the standby, so the standby lacks acknowledged writes. The broker refuses the
        /// promoted standby. An operator accepts it and keeps the sessions: a token that is ahead of the database shows
        /// the gap. The app must use its login again, and at most one of two families is alive.
        @Test func writesThatWereLost() async throws {
            let fixture = try await ReplicationFaults.fixture
            let (pair, logins, ledger) = (fixture.pair, fixture.logins(), Ledger())
            let wire = Wire(ledger: ledger, brokers: [try await fixture.startBroker()])
            let family = try await logins.family(at: wire.brokers[0])
            try await pair.standby.kill9()
            try await pair.primary.requireConfirmation(by: nil)
            func refresh(_ token: String) async throws -> LedgerEntry.Outcome? {
                let presented = try #require(RefreshToken(token))
                let answer = await wire.send(
                    .refresh(presented), logins.refresh(token), session: family.login.sid, app: logins.target, to: 0)
                return if case .outcome(let outcome) = answer { outcome } else { nil }
            }
            guard case .granted(let second) = try await refresh(family.refreshToken) else {
                throw Unexpected.noGrant
            }
            try await pair.primary.untilCountedTwice(database: fixture.installation.database)
            try await pair.killPrimary()
            try await pair.standby.restart()
            try await pair.promoteStandby()
            #expect(try await fixture.state(of: family.login) == "1|f")
            // The loss is a real one, and the ledger sees it.
            let final = try await fixture.finalState(of: ledger.entries)
            #expect(
                LedgerChecker().violations(in: ledger.entries, final) == [
                    .rotationLost(grant: second.grant, acknowledged: 2, found: 1)
                ])

            try await wire.brokers[0].untilLogged("database_went_backwards")
            #expect(try await wire.brokers[0].token(logins.refresh(second.text)).isOutage)
            #expect(try await wire.brokers[0].readiness() == 503)
            try await fixture.installation.command(
                "database", "accept", "--sessions", "keep", "--execute", "--reason", "lagging standby")
            try await wire.brokers[0].untilReady()
            #expect(try await refresh(second.text) == .refused)
            #expect(try await fixture.state(of: family.login) == "1|t")
            let reason = "SELECT revoke_reason FROM native_sso.sso_grant WHERE grant_id = '\(second.grant)'"
            #expect(try await fixture.rows(reason) == "state_regressed")
            #expect(try await refresh(family.refreshToken) == .refused)
            let anew = try await wire.brokers[0].token(try logins.exchange(family.login))
            #expect(anew.status == 200, "\(anew.text)")
            try await pair.rejoin()
            await wire.brokers[0].process.terminate()
        }

        /// After a failover the old primary returns unchanged and accepts writes. A broker that has seen the new
        /// primary refuses the old one, even if the new one is down.
        @Test func theOldPrimaryComesBack() async throws {
            let fixture = try await ReplicationFaults.fixture
            let (pair, broker, logins) = (fixture.pair, try await fixture.startBroker(), fixture.logins())
            let family = try await logins.family(at: broker)
            try await pair.killPrimary()
            try await pair.promoteStandby()
            try await broker.untilReady()
            let rotated = try await broker.token(logins.refresh(family.refreshToken))
            let second = try #require(rotated.refreshToken, "\(rotated.text)")
            try await pair.primary.untilCountedTwice(database: fixture.installation.database)

            let (new, old) = (await pair.primary, await pair.standby)
            try await old.restart()
            #expect(try await !old.isStandby)
            try await pair.killPrimary()
            try await broker.untilLogged("database_went_backwards")
            for token in [family.refreshToken, second] {
                #expect(try await broker.token(logins.refresh(token)).isOutage)
            }
            #expect(try await broker.readiness() == 503)

            try await new.restart()
            try await broker.untilReady()
            #expect(try await broker.token(logins.refresh(second)).status == 200)
            #expect(try await fixture.state(of: family.login) == "3|f")
            try await pair.rejoin()
            await broker.process.terminate()
        }

        /// The primary is frozen, its standby promoted, and then the old one runs on, with connections that the broker
        /// still holds: it goes on with the new one, and what was ended there stays ended.
        @Test func aPrimaryThatIsReplacedWhileItHangs() async throws {
            let fixture = try await ReplicationFaults.fixture
            let (pair, broker, logins) = (fixture.pair, try await fixture.startBroker(), fixture.logins())
            let (family, other) = (try await logins.family(at: broker), try await logins.family(at: broker))
            // Its answer is lost: the retry is answered without a write, which no standby would have to confirm.
            #expect(try await broker.token(logins.refresh(family.refreshToken)).status == 200)

            try await pair.primary.suspend()
            #expect(try await broker.token(logins.refresh(other.refreshToken)).isOutage)
            try await pair.promoteStandby()
            _ = try await eventually("a success on the new primary") {
                try await broker.token(logins.refresh(other.refreshToken)).status == 200 ? true : nil
            }
            #expect(try await fixture.state(of: other.login) == "2|f")
            let session = "SELECT session_id FROM native_sso.session WHERE sid = sha256('\(family.login.sid)')"
            try await fixture.rows("SELECT native_sso.end_sessions(ARRAY(\(session)), 'test', 'test', NULL)")

            try await pair.standby.resume()
            let answers = try await atOnce(64) { try await broker.token(logins.refresh(family.refreshToken)) }
            #expect(answers.allSatisfy { $0.outcome == .refused || $0.isOutage }, "\(answers.map(\.status))")
            try await pair.rejoin()
            await broker.process.terminate()
        }
    }

    enum Unexpected: Error {
        case noGrant
    }
}
