import BrokerTesting
import JOSE
import PrivateCluster
import BrokerHarness
import Testing

extension Faults {
    struct DatabaseFaultTests {
        /// Every server process is killed: both grants answer with an outage, never `invalid_grant`. Afterwards the
        /// same refresh token works.
        @Test func aDatabaseThatIsGone() async throws {
            let fixture = try await FaultFixture.shared
            let family = try await fixture.logins.family(at: fixture.broker)
            try await fixture.cluster.kill9()
            for form in [
                fixture.logins.refresh(family.refreshToken), try fixture.logins.exchange(fixture.logins.login()),
            ] {
                let answer = try await fixture.broker.token(form)
                #expect(answer.isOutage, "\(answer.status) \(answer.text)")
            }
            #expect(try await HTTPRequest("GET", "/livez").send(to: fixture.broker.internalPort).status == 200)
            let readiness = try await HTTPRequest("GET", "/readyz").send(to: fixture.broker.internalPort)
            #expect(readiness.status == 503)
            #expect(readiness.failedChecks.contains("database"), "\(readiness.text)")

            try await fixture.cluster.restart()
            try await fixture.broker.untilReady()
            let answer = try await fixture.broker.token(fixture.logins.refresh(family.refreshToken))
            #expect(answer.status == 200, "\(answer.text)")
            #expect(try await fixture.broker.token(try fixture.logins.exchange(fixture.logins.login())).status == 200)
        }

        /// A client authenticates with an assertion while the database is away: an outage. Afterwards the same
        /// assertion works, once.
        @Test func anAssertionWhileTheDatabaseIsGone() async throws {
            let fixture = try await FaultFixture.shared
            let signer = try await Signer("signer", at: fixture)
            let form = try signer.exchange()
            try await fixture.cluster.kill9()
            let answer = try await fixture.broker.token(form)
            #expect(answer.isOutage, "\(answer.status) \(answer.text)")
            try await fixture.cluster.restart()
            try await fixture.broker.untilReady()
            #expect(try await fixture.broker.token(form).status == 200)
            #expect(try await fixture.broker.token(form).error == "invalid_client")
        }

        /// The grant cannot be given: an outage, which has cost no assertion. The same is good afterwards, and once.
        @Test func anOutageOfTheGrantCostsNoAssertion() async throws {
            let fixture = try await FaultFixture.shared
            let signer = try await Signer("late-signer", at: fixture)
            let form = try signer.exchange()
            let sql = try fixture.installation.session()
            try await sql.rows("ALTER FUNCTION native_sso.exchange RENAME TO exchange_elsewhere")
            let outage = try await fixture.broker.token(form)
            try await sql.rows("ALTER FUNCTION native_sso.exchange_elsewhere RENAME TO exchange")
            #expect(outage.isOutage, "\(outage.status) \(outage.text)")
            #expect(try await fixture.broker.token(form).status == 200)
            let again = try await fixture.broker.token(form)
            #expect(again.status == 400 && again.error == "invalid_client", "\(again.text)")
            #expect(try await sql.auditedReason(of: again.requestID) == "client_assertion_replayed")
            #expect(try await fixture.broker.token(try signer.exchange()).status == 200)
        }

        /// Connections stay open and nothing answers: the broker's own deadline is what ends the wait.
        @Test func aDatabaseThatHangs() async throws {
            let fixture = try await FaultFixture.shared
            let family = try await fixture.logins.family(at: fixture.broker)
            try await fixture.cluster.suspend()
            let answer = try await fixture.broker.token(fixture.logins.refresh(family.refreshToken))
            try await fixture.cluster.resume()
            #expect(answer.isOutage, "\(answer.status) \(answer.text)")
            try await fixture.broker.untilReady()
            // It may have happened meanwhile, or not: the retry gets the successor either way.
            let retry = try await fixture.broker.token(fixture.logins.refresh(family.refreshToken))
            #expect(retry.status == 200, "\(retry.text)")
        }

        /// Until somebody migrates, or restores what was there: an outage, not a defect.
        @Test func aRequestWhileNothingIsMigrated() async throws {
            let fixture = try await FaultFixture.shared
            let family = try await fixture.logins.family(at: fixture.broker)
            let sql = try fixture.installation.session()
            try await sql.rows("ALTER SCHEMA native_sso RENAME TO elsewhere")
            let exchange = try await fixture.broker.token(try fixture.logins.exchange(fixture.logins.login()))
            let refresh = try await fixture.broker.token(fixture.logins.refresh(family.refreshToken))
            try await sql.rows("ALTER SCHEMA elsewhere RENAME TO native_sso")
            for answer in [exchange, refresh] {
                #expect(answer.isOutage && answer.keepsContract, "\(answer.status) \(answer.text)")
            }
            try await fixture.broker.untilReady()
            #expect(try await fixture.broker.token(fixture.logins.refresh(family.refreshToken)).status == 200)
            #expect(try await fixture.broker.token(try fixture.logins.exchange(fixture.logins.login())).status == 200)
        }
    }
}
