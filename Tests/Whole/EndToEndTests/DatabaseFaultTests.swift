import BrokerTesting
import JOSE
import PrivateCluster
import BrokerHarness
import StrictCoding
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

        /// Readiness says what a request meets.
        @Test(arguments: ["exchange", "refresh"]) func `a broker that cannot ask is not ready`(function: String)
            async throws
        {
            let fixture = try await FaultFixture.shared
            let sql = try fixture.installation.session()
            try await sql.rows("REVOKE EXECUTE ON FUNCTION native_sso.\(function) FROM native_sso_broker")
            let broker = try fixture.installation.startBroker("blind-\(function)")
            let reason = try await eventually("the check that fails") { () async throws -> String? in
                let answer = try? await HTTPRequest("GET", "/readyz").send(to: broker.internalPort)
                let failed = answer?.json?["checks"]?.array?.compactMap(\.object).filter { $0.string("status") != "ok" }
                guard let failed, failed.count == 1, failed[0].string("name") == "requests" else { return nil }
                return failed[0].string("reason")
            }
            #expect(reason == "\(function)_failed")
            try await sql.rows("GRANT EXECUTE ON FUNCTION native_sso.\(function) TO native_sso_broker")
            try await broker.untilReady()
            #expect(try await broker.token(try fixture.logins.exchange(fixture.logins.login())).status == 200)
            try await broker.stop()
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
