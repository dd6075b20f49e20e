import BrokerTesting
import NativeSSO
import Testing

extension GrantRegistryConformance {
    /// Every refusal but the one that needs no registry.
    static let refreshRefusals: [GrantRegistryCheck] =
        RefreshRefusal.allCases.filter { ![.tokenNotOurs, .subjectAmbiguous].contains($0) }
        .flatMap { refusal -> [GrantRegistryCheck] in
            guard !refusal.revokesGrant else {
                return [
                    GrantRegistryCheck("refresh refused, family revoked: \(refusal)") { fixture in
                        var scenario = try RefreshScenario()
                        scenario.spoil(for: refusal)
                        try await expectRevocation(refusal, of: scenario, on: fixture)
                    }
                ]
            }
            return [
                GrantRegistryCheck("refresh refused, nothing written: \(refusal)") { fixture in
                    var scenario = try RefreshScenario()
                    scenario.spoil(for: refusal)
                    try await expect(refusal, of: scenario, on: fixture)
                },
                GrantRegistryCheck("redelivery refused, nothing written: \(refusal)") { fixture in
                    var scenario = try RefreshScenario()
                    scenario.lose(0)
                    scenario.spoil(for: refusal)
                    try await expect(refusal, of: scenario, on: fixture)
                },
            ]
        } + [
            GrantRegistryCheck("refresh refused, family revoked: misuse in an ended session") { fixture in
                var scenario = try RefreshScenario()
                scenario.spoil(for: .sessionEnded)
                scenario.spoil(for: .replayed)
                try await expectRevocation(.replayed, of: scenario, on: fixture)
            }
        ]

    static func expect(
        _ refusal: RefreshRefusal, of scenario: RefreshScenario, on fixture: any GrantRegistryFixture
    ) async throws {
        try await scenario.put(into: fixture)
        let attempt = try await fixture.writingNothing { try await scenario.attempt(on: fixture.registry) }
        #expect(attempt.refusal == refusal && attempt.facts.effect == .none && attempt.defect == nil)
    }

    /// The grant is revoked once, with one audit row, and the rightful holder cannot use it either.
    static func expectRevocation(
        _ refusal: RefreshRefusal, of scenario: RefreshScenario, on fixture: any GrantRegistryFixture
    ) async throws {
        try await scenario.put(into: fixture)
        let (attempt, growth) = try await fixture.counting { try await scenario.attempt(on: fixture.registry) }
        #expect(attempt.refusal == refusal && attempt.facts.effect == .revoked && attempt.defect == nil)
        #expect(attempt.facts.grant?.revokedAt == nil, "the facts are those before this call")
        #expect(growth == .init(liveGrants: -1, auditRows: 1, usedProofs: scenario.proof == nil ? 0 : 1))

        var owner = scenario
        owner.client = scenario.exchange.client
        owner.generation = try #require(scenario.grant).generation
        // Of a late token's successor: see RunChecks.
        for var further in refusal == .late ? [scenario] : [scenario, owner] {
            further.proof = further.proof.map { .random(by: $0.key) }
            further.assertion = nil
            let again = try await fixture.writingNothing { try await further.attempt(on: fixture.registry) }
            #expect(again.refusal == .grantRevoked)
        }
    }
}

extension RefreshScenario {
    /// The answer that made the current generation was lost this long ago: the token before it is presented.
    mutating func lose(_ ago: Seconds) {
        grant?.rotated = ago
        generation = (grant?.generation ?? generation) - 1
    }
}
