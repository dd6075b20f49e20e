import BrokerHarness
import Testing

extension Faults {
    struct RaceTests {
        private enum End: CaseIterable {
            case byOperator, byLogout, byRevocation
        }

        /// A refresh at one broker, and the end of its session or grant at another: what was given before the answer is dead
        /// after it, at both.
        @Test func aRefreshWhileTheSessionEnds() async throws {
            let fixture = try await FaultFixture.shared
            try await fixture.installation.withBackchannel("ending") { other, port in
                for end in End.allCases {
                    for _ in 0..<5 {
                        let family = try await fixture.logins.family(at: fixture.broker)
                        async let first = fixture.broker.token(fixture.logins.refresh(family.refreshToken))
                        switch end {
                        case .byOperator:
                            try await fixture.installation.command(
                                "session", "end", "--issuer", fixture.logins.issuer, "--sid", family.login.sid,
                                "--reason", "test", "--execute")
                        case .byLogout:
                            #expect(try await other.logout(fixture.logins.logout(family.login)).status == 200)
                        case .byRevocation: #expect(try await revoke(family.refreshToken, at: port).status == 200)
                        }
                        let answer = try await first
                        #expect(answer.status == 200 || answer.error == "invalid_grant", "\(end): \(answer.text)")
                        for token in [answer.refreshToken, family.refreshToken].compactMap(\.self) {
                            for broker in [fixture.broker, other] {
                                let later = try await broker.token(fixture.logins.refresh(token))
                                #expect(later.status == 400 && later.error == "invalid_grant", "\(end): \(later.text)")
                            }
                        }
                    }
                }
            }
        }
    }
}
