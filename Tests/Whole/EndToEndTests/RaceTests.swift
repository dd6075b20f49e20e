import BrokerHarness
import BrokerTesting
import Testing

extension Faults {
    struct RaceTests {
        /// Forty refreshes of one token at two brokers: one rotation, one successor for all, no refusal.
        @Test func oneTokenAtTwoBrokers() async throws {
            let fixture = try await FaultFixture.shared
            let sql = try fixture.installation.session()
            let other = try await fixture.installation.startBroker("other").ready()
            let family = try await fixture.logins.family(at: fixture.broker)
            let form = fixture.logins.refresh(family.refreshToken)
            let answers = try await atOnce(40) {
                try await ($0.isMultiple(of: 2) ? fixture.broker : other).settledToken(form)
            }
            #expect(answers.allSatisfy { $0.status == 200 }, "\(answers.map(\.status))")
            #expect(Set(answers.map(\.refreshToken)).count == 1)
            #expect(try await fixture.state(of: family, sql) == "2|f")
            await other.process.terminate()
        }

        /// A refresh and the end of its session, at once: afterwards nothing goes on.
        @Test func aRefreshWhileTheSessionEnds() async throws {
            let fixture = try await FaultFixture.shared
            let family = try await fixture.logins.family(at: fixture.broker)
            async let first = fixture.broker.token(fixture.logins.refresh(family.refreshToken))
            try await fixture.installation.command(
                "session", "end", "--issuer", fixture.logins.issuer, "--sid", family.login.sid, "--reason", "test",
                "--execute")
            let answer = try await first
            #expect(answer.status == 200 || answer.error == "invalid_grant", "\(answer.text)")
            for token in [answer.refreshToken, family.refreshToken].compactMap(\.self) {
                let later = try await fixture.broker.token(fixture.logins.refresh(token))
                #expect(later.status == 400 && later.error == "invalid_grant", "\(later.text)")
            }
        }
    }
}
