import NativeSSO
import Testing

extension GrantRegistryConformance {
    /// Every refusal that the registry has a part in, or that it is asked about although it will be one.
    static let exchangeRefusals: [GrantRegistryCheck] =
        ExchangeRefusal.allCases
        .filter { ExchangeScenario.step(of: $0) >= ExchangeScenario.step(of: .proofReplayed) }
        .map { refusal in
            GrantRegistryCheck("exchange refused, nothing written: \(refusal)") { fixture in
                var scenario = try ExchangeScenario(profile: .deviceSecret)
                scenario.spoil(for: refusal)
                try await expect(refusal, of: scenario, on: fixture)
            }
        } + [
            GrantRegistryCheck("exchange refused: the client does not exist") { fixture in
                let scenario = try ExchangeScenario()
                let attempt = try await fixture.writingNothing { try await scenario.attempt(on: fixture.registry) }
                #expect(attempt.refusal == .clientDisabled)
            },
            GrantRegistryCheck("exchange refused: the client is a member only at another issuer") { fixture in
                var scenario = try ExchangeScenario()
                let member = MemberRow(
                    issuer: Issuer(validated: "https://other.example.com/\(scenario.group)"), client: scenario.target,
                    membership: Membership(group: GroupID(validated: "other-\(scenario.group)"), role: .both))
                scenario.targetMember = nil
                try await fixture.put(client: scenario.target, isEnabled: true)
                try await fixture.put(member)
                try await expect(.clientNotInGroup, of: scenario, on: fixture)
            },
            GrantRegistryCheck("exchange refused: the sid belongs to another issuer") { fixture in
                var scenario = try ExchangeScenario()
                scenario.session?.issuer = Issuer(validated: "https://other.example.com/\(scenario.group)")
                try await expect(.sessionUnknown, of: scenario, on: fixture)
            },
        ]

    /// The scenario's rows are put there, its exchange is refused for this reason, and every row stays as it was.
    static func expect(
        _ refusal: ExchangeRefusal, of scenario: ExchangeScenario, on fixture: any GrantRegistryFixture
    ) async throws {
        try await scenario.put(into: fixture)
        let attempt = try await fixture.writingNothing { try await scenario.attempt(on: fixture.registry) }
        #expect(attempt.refusal == refusal && attempt.facts.grant == nil && attempt.defect == nil)
    }
}
