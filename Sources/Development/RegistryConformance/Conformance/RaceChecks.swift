import BrokerTesting
import NativeSSO
import Testing

extension GrantRegistryConformance {
    static let raceChecks = [
        GrantRegistryCheck("race: one of 40 refreshes with one token advances, and all get one successor") { fixture in
            let scenario = try await RefreshScenario().placed(in: fixture)
            let attempts = try await atOnce(40) { try await scenario.attempt(on: fixture.registry) }
            #expect(attempts.count { $0.success == .advanced } == 1)
            #expect(attempts.count { $0.success == .redelivered } == 39)
            #expect(attempts.allSatisfy { $0.facts.effect != .revoked })
        },
        GrantRegistryCheck("race: one of 8 replays revokes") { fixture in
            var scenario = try RefreshScenario()
            scenario.spoil(for: .replayed)
            try await scenario.put(into: fixture)
            let (attempts, growth) = try await fixture.counting {
                try await atOnce(8) { [scenario] in try await scenario.attempt(on: fixture.registry) }
            }
            #expect(attempts.count { $0.facts.effect == .revoked } == 1)
            #expect(attempts.count { $0.refusal == .grantRevoked } == 7)
            #expect(growth == .init(liveGrants: -1, auditRows: 1))
        },
        GrantRegistryCheck("race: 8 first sights by one app create one session and one family") { fixture in
            let scenario = try await ExchangeScenario.firstSight().placed(in: fixture)
            let (attempts, growth) = try await fixture.counting {
                try await atOnce(8) { try await scenario.attempt(on: fixture.registry) }
            }
            #expect(growth == .init(sessions: 1, grants: 1, liveGrants: 1, auditRows: 8))
            #expect(Set(attempts.map { $0.facts.session?.id }).count == 1)
            #expect(Set(attempts.map { $0.grant?.id }).count == 1)
            #expect(attempts.allSatisfy { $0.grant?.generation == 1 }, "each has an answer that goes on")
        },
        GrantRegistryCheck("race: 8 first sights by 8 apps create one session and 8 families") { fixture in
            let scenario = try ExchangeScenario.firstSight()
            let siblings = (0..<8).map { scenario.sibling($0) }
            for sibling in siblings { try await sibling.put(into: fixture) }
            let (attempts, growth) = try await fixture.counting {
                try await atOnce(8) { try await siblings[$0].attempt(on: fixture.registry) }
            }
            #expect(growth == .init(sessions: 1, grants: 8, liveGrants: 8, auditRows: 8))
            #expect(attempts.allSatisfy { $0.grant?.generation == 1 })
        },
        GrantRegistryCheck("race: exchanges and refreshes of one grant never disagree with the rules") { fixture in
            let scenario = try await RefreshScenario().placed(in: fixture)
            async let exchanges = atOnce(10) { try await scenario.exchange.attempt(on: fixture.registry) }
            let refreshes = try await atOnce(10) { try await scenario.attempt(on: fixture.registry) }
            #expect(try await exchanges.allSatisfy { $0.defect == nil && $0.refusal == nil })
            #expect(refreshes.allSatisfy { $0.defect == nil })
            #expect(refreshes.count { $0.facts.effect == .advanced } <= 1)
            #expect(refreshes.count { $0.facts.effect == .revoked } <= 1)
        },
    ]
}
