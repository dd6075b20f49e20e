import PrivateCluster
import BrokerHarness
import Testing

extension Faults {
    /// The identity provider's word at one of several brokers, and while the database is away.
    struct LogoutTests {
        /// Told to one broker, it holds at the other from the answer on.
        @Test func aLogoutHoldsAtEveryBroker() async throws {
            let fixture = try await FaultFixture.shared
            let other = try await fixture.installation.startBroker("other-logout").ready()
            let family = try await fixture.logins.family(at: fixture.broker)
            #expect(try await other.token(try fixture.logins.exchange(family.login)).status == 200)
            #expect(try await fixture.broker.logout(fixture.logins.logout(family.login)).status == 200)
            for broker in [other, fixture.broker] {
                #expect(try await broker.token(fixture.logins.refresh(family.refreshToken)).error == "invalid_grant")
                #expect(try await broker.token(try fixture.logins.exchange(family.login)).error == "invalid_grant")
            }
            // The IdP may have lost the answer: the same token is good again, at any broker.
            let login = fixture.logins.login()
            let token = fixture.logins.logout(login)
            #expect(try await fixture.broker.logout(token).status == 200)
            #expect(try await other.logout(token).status == 200)
            await other.process.terminate()
        }

        /// a refresh and the logout of its session, at once: what was given before the answer is dead after it.
        @Test func aRefreshWhileTheUserLogsOut() async throws {
            let fixture = try await FaultFixture.shared
            for _ in 0..<5 {
                let family = try await fixture.logins.family(at: fixture.broker)
                async let first = fixture.broker.token(fixture.logins.refresh(family.refreshToken))
                #expect(try await fixture.broker.logout(fixture.logins.logout(family.login)).status == 200)
                let answer = try await first
                #expect(answer.status == 200 || answer.error == "invalid_grant", "\(answer.text)")
                for token in [answer.refreshToken, family.refreshToken].compactMap(\.self) {
                    #expect(try await fixture.broker.token(fixture.logins.refresh(token)).error == "invalid_grant")
                }
            }
        }

        /// L-17: never a 200 for what is not committed; and the same token is good when the database is back.
        @Test func aLogoutWithoutADatabase() async throws {
            let fixture = try await FaultFixture.shared
            let family = try await fixture.logins.family(at: fixture.broker)
            let token = fixture.logins.logout(family.login)
            try await fixture.cluster.kill9()
            let answer = try await fixture.broker.logout(token)
            // Back-Channel Logout 1.0 §2.8: a logout that failed is a 400.
            #expect(answer.status == 400 && answer.error == "temporarily_unavailable", "\(answer.text)")
            #expect(answer["Retry-After"] != nil)
            try await fixture.cluster.restart()
            _ = try await eventually("the logout is taken") {
                try await fixture.broker.logout(token).status == 200 ? true : nil
            }
            let refreshed = try await fixture.broker.settledToken(fixture.logins.refresh(family.refreshToken))
            #expect(refreshed.error == "invalid_grant", "\(refreshed.text)")
        }
    }
}
