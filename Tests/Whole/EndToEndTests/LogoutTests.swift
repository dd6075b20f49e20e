import PrivateCluster
import BrokerHarness
import Testing

extension Faults {
    /// The identity provider's word at one of several brokers, and while the database is away.
    struct LogoutTests {
        /// Told to one broker, it holds at the other from the answer on.
        @Test func aLogoutHoldsAtEveryBroker() async throws {
            let stage = try await FaultStage.shared
            let other = try stage.installation.startBroker("other-logout")
            try await other.untilReady()
            let chain = try await stage.logins.chain(at: stage.broker)
            #expect(try await other.token(try stage.logins.exchange(chain.login)).status == 200)
            #expect(try await stage.broker.logout(stage.logins.logout(chain.login)).status == 200)
            for broker in [other, stage.broker] {
                #expect(try await broker.token(stage.logins.refresh(chain.refreshToken)).error == "invalid_grant")
                #expect(try await broker.token(try stage.logins.exchange(chain.login)).error == "invalid_grant")
            }
            // A token that was used at one broker is used up at all.
            let login = stage.logins.login()
            let token = stage.logins.logout(login)
            #expect(try await stage.broker.logout(token).status == 200)
            #expect(try await other.logout(token).status == 400)
            await other.process.terminate()
        }

        /// a refresh and the logout of its session, at once: what was given before the answer is dead after it.
        @Test func aRefreshWhileTheUserLogsOut() async throws {
            let stage = try await FaultStage.shared
            for _ in 0..<5 {
                let chain = try await stage.logins.chain(at: stage.broker)
                async let first = stage.broker.token(stage.logins.refresh(chain.refreshToken))
                #expect(try await stage.broker.logout(stage.logins.logout(chain.login)).status == 200)
                let answer = try await first
                #expect(answer.status == 200 || answer.error == "invalid_grant", "\(answer.text)")
                for token in [answer.refreshToken, chain.refreshToken].compactMap(\.self) {
                    #expect(try await stage.broker.token(stage.logins.refresh(token)).error == "invalid_grant")
                }
            }
        }

        /// L-17: never a 200 for what is not committed; and the same token is good when the database is back.
        @Test func aLogoutWithoutADatabase() async throws {
            let stage = try await FaultStage.shared
            let chain = try await stage.logins.chain(at: stage.broker)
            let token = stage.logins.logout(chain.login)
            try await stage.cluster.kill9()
            let answer = try await stage.broker.logout(token)
            // Back-Channel Logout 1.0 §2.8: a logout that failed is a 400.
            #expect(answer.status == 400 && answer.error == "temporarily_unavailable", "\(answer.text)")
            #expect(answer["Retry-After"] != nil)
            try await stage.cluster.restart()
            _ = try await eventually("the logout is taken") {
                try await stage.broker.logout(token).status == 200 ? true : nil
            }
            let refreshed = try await stage.broker.settledToken(stage.logins.refresh(chain.refreshToken))
            #expect(refreshed.error == "invalid_grant", "\(refreshed.text)")
        }
    }
}
