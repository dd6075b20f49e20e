import BrokerTesting
import JOSE
import PrivateCluster
import BrokerHarness
import Testing

extension Faults {
    struct DatabaseFaultTests {
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
