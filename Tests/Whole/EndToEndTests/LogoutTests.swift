import PrivateCluster
import BrokerHarness
import Testing

extension Faults {
    struct LogoutTests {
        /// L-17: never a 200 for a logout or a revocation that is not committed. The same token is good when the database is
        /// back.
        @Test func aLogoutWithoutADatabase() async throws {
            let fixture = try await FaultFixture.shared
            try await fixture.installation.withBackchannel("without-database") { broker, port in
                let (out, revoked) = (
                    try await fixture.logins.family(at: broker), try await fixture.logins.family(at: broker)
                )
                let token = fixture.logins.logout(out.login)
                try await fixture.cluster.kill9()
                let answer = try await broker.logout(token)
                // Back-Channel Logout 1.0 §2.8: a logout that failed is a 400.
                #expect(answer.status == 400 && answer.error == "temporarily_unavailable", "\(answer.text)")
                #expect(answer["Retry-After"] != nil)
                let refusal = try await revoke(revoked.refreshToken, at: port)
                #expect(refusal.isOutage, "\(refusal.status) \(refusal.text)")
                try await fixture.cluster.restart()
                for broker in [broker, fixture.broker] { try await broker.untilReady() }
                #expect(try await broker.logout(token).status == 200)
                #expect(try await revoke(revoked.refreshToken, at: port).status == 200)
                for family in [out, revoked] {
                    let refreshed = try await broker.settledToken(fixture.logins.refresh(family.refreshToken))
                    #expect(refreshed.error == "invalid_grant", "\(refreshed.text)")
                }
            }
        }
    }
}
