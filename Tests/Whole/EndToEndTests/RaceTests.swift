import BrokerHarness
import Testing

extension Faults {
    struct RaceTests {
        /// Forty refreshes of one token at two brokers: one rotation, one successor for all, nobody thrown out.
        @Test func oneTokenAtTwoBrokers() async throws {
            let stage = try await FaultStage.shared
            let sql = try stage.installation.session()
            let other = try stage.installation.startBroker("other")
            try await other.untilReady()
            let chain = try await stage.logins.chain(at: stage.broker)
            let form = stage.logins.refresh(chain.refreshToken)
            let answers = try await withThrowingTaskGroup(of: HTTPAnswer.self) { group in
                for index in 0..<40 {
                    group.addTask { try await (index.isMultiple(of: 2) ? stage.broker : other).settledToken(form) }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(answers.allSatisfy { $0.status == 200 }, "\(answers.map(\.status))")
            #expect(Set(answers.map(\.refreshToken)).count == 1)
            #expect(try await stage.state(of: chain, sql) == "2|f")
            await other.process.terminate()
        }

        /// A refresh and the end of its session, at once: afterwards nothing goes on.
        @Test func aRefreshWhileTheSessionEnds() async throws {
            let stage = try await FaultStage.shared
            let chain = try await stage.logins.chain(at: stage.broker)
            async let first = stage.broker.token(stage.logins.refresh(chain.refreshToken))
            try await stage.installation.command(
                "session", "end", "--issuer", stage.logins.issuer, "--sid", chain.login.sid, "--reason", "test",
                "--execute")
            let answer = try await first
            #expect(answer.status == 200 || answer.error == "invalid_grant", "\(answer.text)")
            for token in [answer.refreshToken, chain.refreshToken].compactMap(\.self) {
                let later = try await stage.broker.token(stage.logins.refresh(token))
                #expect(later.status == 400 && later.error == "invalid_grant", "\(later.text)")
            }
        }
    }
}
