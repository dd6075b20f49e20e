import NativeSSO
import Testing

extension GrantRegistryConformance {
    static let refreshChecks = [
        GrantRegistryCheck("refresh: the generation grows by one without new rows") { fixture in
            var scenario = try await RefreshScenario().placed(in: fixture)
            let before = try await fixture.digestOfState()
            let (attempt, growth) = try await fixture.counting { try await scenario.attempt(on: fixture.registry) }
            #expect(attempt.success == .advanced && attempt.facts.effect == .advanced && growth == RegistryCounts())
            #expect(try await fixture.digestOfState() != before)
            let family = try #require(attempt.facts.grant)
            #expect(family.client == scenario.exchange.target && family.generation == 5)
            #expect(family.scope.tokens == ExchangeScenario.scope.tokens)
            #expect(family.audiences == scenario.exchange.client.audiences)
            #expect(family.session.id == scenario.exchange.session?.id)
            #expect(family.session.subject == scenario.exchange.subject && family.login == scenario.exchange.login)

            scenario.generation = 6
            let next = try await scenario.attempt(on: fixture.registry)
            #expect(next.success == .advanced && next.facts.grant?.generation == 6)
        },
        GrantRegistryCheck("refresh: one audience and a narrower scope narrow one answer, not the grant") { fixture in
            var scenario = try RefreshScenario()
            scenario.grant?.audiences = ["https://api.example.com", "https://b.example.com"]
            scenario.resource = "https://b.example.com"
            scenario.scope = Scope(["openid"])
            try await scenario.put(into: fixture)
            for _ in 1...2 {
                let attempt = try await scenario.attempt(on: fixture.registry)
                #expect(attempt.success == .advanced && attempt.facts.grant?.audiences == scenario.grant?.audiences)
                #expect(attempt.facts.grant?.scope == ExchangeScenario.scope)
                scenario.resource = nil
                scenario.scope = ExchangeScenario.scope
                scenario.generation += 1
            }
        },
        GrantRegistryCheck("refresh: a lost answer is redelivered until its successor is used") { fixture in
            var scenario = try await RefreshScenario().placed(in: fixture)
            #expect(try await scenario.attempt(on: fixture.registry).success == .advanced)
            for _ in 0..<12 {
                let again = try await fixture.writingNothing { try await scenario.attempt(on: fixture.registry) }
                #expect(again.success == .redelivered)
            }
            scenario.generation = 6
            #expect(try await scenario.attempt(on: fixture.registry).success == .advanced)
            scenario.generation = 5
            let late = try await scenario.attempt(on: fixture.registry)
            #expect(late.refusal == .replayed && late.facts.effect == .revoked)
        },
        GrantRegistryCheck("refresh: no grace period runs while no broker could answer") { fixture in
            // The token's successor was made `rotated` seconds ago, with a grace period of 10 s.
            let cases: [(rotated: Int64, ServiceHistory, RotationFacts.Effect)] = [
                (20, ServiceHistory(), .revoked),
                (20, ServiceHistory([(15, 5)]), .extended),
                (20, ServiceHistory([(25, 15)]), .extended),
                (60, ServiceHistory([(80, 65)]), .revoked),
                (60, ServiceHistory([(45, 5)]), .revoked),
                (200, ServiceHistory([(195, 90)]), .extended),
                (200, ServiceHistory([(195, 125)]), .revoked),
                (400, ServiceHistory([(395, 300), (200, 90)]), .extended),
                (400, ServiceHistory([(395, 300), (170, 90)]), .revoked),
                (80_000, ServiceHistory([(79_995, 60)]), .extended),
                (90_000, ServiceHistory([(89_995, 60)]), .revoked),
                (20, ServiceHistory([], lastCount: 15), .unsure),
                // In the grace period: a gap may have begun then.
                (13, ServiceHistory([], lastCount: 5), .unsure),
                (20, ServiceHistory([(15, 7)], lastCount: 15), .extended),
                (20, ServiceHistory([], lastCount: 0), .revoked),
            ]
            for (rotated, service, effect) in cases {
                var scenario = try RefreshScenario()
                scenario.lose(Seconds(rotated))
                scenario.service = service
                let note: Comment = "\(rotated) \(service)"
                try await scenario.put(into: fixture)
                if effect != .revoked {
                    for _ in 1...2 {
                        let attempt = try await fixture.writingNothing {
                            try await scenario.attempt(on: fixture.registry)
                        }
                        #expect(attempt.facts.effect == effect, note)
                        #expect(attempt.success == (effect == .extended ? .redelivered : nil), note)
                        #expect(attempt.isOutage == (effect == .unsure), note)
                    }
                    // Two holders are two holders, gap or not.
                    scenario.generation += 1
                    #expect(try await scenario.attempt(on: fixture.registry).success == .advanced, note)
                    scenario.generation -= 1
                    #expect(try await scenario.attempt(on: fixture.registry).refusal == .replayed, note)
                } else {
                    #expect(try await scenario.attempt(on: fixture.registry).refusal == .late, note)
                }
            }
        },
        GrantRegistryCheck("refresh: a use restarts the idle limit") { fixture in
            var scenario = try RefreshScenario()
            scenario.exchange.session?.lastUsed = .days(29)
            try await scenario.put(into: fixture)
            #expect(try await scenario.attempt(on: fixture.registry).success == .advanced)
            scenario.generation = 6
            let next = try await scenario.attempt(on: fixture.registry).facts
            #expect(try next.now.since(#require(next.grant).session.lastUsedAt) < .minutes(1))
        },
    ]
}
