import NativeSSO
import Testing

extension GrantRegistryConformance {
    static let refreshChecks = [
        GrantRegistryCheck("refresh: the generation grows by one without new rows") { fixture in
            var scenario = try RefreshScenario()
            try await scenario.put(into: fixture)
            let before = try await fixture.digestOfState()
            let (attempt, growth) = try await fixture.counting { try await scenario.attempt(on: fixture.registry) }
            #expect(attempt.success == .advanced)
            #expect(attempt.facts.effect == .advanced)
            #expect(growth == .growth())
            #expect(try await fixture.digestOfState() != before)
            let family = try #require(attempt.facts.grant)
            #expect(family.client == scenario.exchange.target)
            #expect(family.generation == 5)
            #expect(family.scope.tokens == ExchangeScenario.scope.tokens)
            #expect(family.audiences == scenario.exchange.client.audiences)
            #expect(family.session.id == scenario.exchange.session?.id)
            #expect(family.session.subject == scenario.exchange.subject)
            #expect(family.login == scenario.exchange.login)

            scenario.generation = 6
            let next = try await scenario.attempt(on: fixture.registry)
            #expect(next.success == .advanced)
            #expect(next.facts.grant?.generation == 6)
        },
        GrantRegistryCheck("refresh: for one audience of several, and then for all of them") { fixture in
            var scenario = try RefreshScenario()
            scenario.grant?.audiences = ["https://api.example.com", "https://b.example.com"]
            scenario.resource = "https://b.example.com"
            try await scenario.put(into: fixture)
            for _ in 1...2 {
                let attempt = try await scenario.attempt(on: fixture.registry)
                #expect(attempt.success == .advanced)
                #expect(attempt.facts.grant?.audiences == scenario.grant?.audiences)
                scenario.resource = nil
                scenario.generation += 1
            }
        },
        GrantRegistryCheck("refresh: a login without auth_time, acr and amr stays without them") { fixture in
            var scenario = try RefreshScenario()
            scenario.grant?.login = Login()
            try await scenario.put(into: fixture)
            #expect(try await scenario.attempt(on: fixture.registry).facts.grant?.login == Login())
        },
        GrantRegistryCheck("refresh: a lost answer is redelivered until its successor is used") { fixture in
            var scenario = try RefreshScenario()
            try await scenario.put(into: fixture)
            #expect(try await scenario.attempt(on: fixture.registry).success == .advanced)
            for _ in 0..<12 {
                let again = try await fixture.writingNothing { try await scenario.attempt(on: fixture.registry) }
                #expect(again.success == .redelivered)
            }
            scenario.generation = 6
            #expect(try await scenario.attempt(on: fixture.registry).success == .advanced)
            scenario.generation = 5
            let late = try await scenario.attempt(on: fixture.registry)
            #expect(late.refusal == .replayed)
            #expect(late.facts.effect == .revoked)
        },
        GrantRegistryCheck("refresh: a narrower scope narrows one answer, not the grant") { fixture in
            var scenario = try RefreshScenario()
            scenario.scope = Scope(["openid"])
            try await scenario.put(into: fixture)
            #expect(try await scenario.attempt(on: fixture.registry).success == .advanced)
            scenario.scope = ExchangeScenario.scope
            scenario.generation = 6
            let next = try await scenario.attempt(on: fixture.registry)
            #expect(next.success == .advanced)
            #expect(next.facts.grant?.scope == ExchangeScenario.scope)
        },
        GrantRegistryCheck("refresh: scopes that the client lost are left out") { fixture in
            var scenario = try RefreshScenario()
            scenario.client.allowedScope = Scope(["openid", "email"])
            try await scenario.put(into: fixture)
            #expect(try await scenario.attempt(on: fixture.registry).success == .advanced)
            scenario.generation = 6
            scenario.scope = Scope(["profile"])
            let lost = try await fixture.writingNothing { try await scenario.attempt(on: fixture.registry) }
            #expect(lost.refusal == .scopeExceedsGrant)
        },
        GrantRegistryCheck("refresh: it is refused after the end of the session") { fixture in
            var scenario = try RefreshScenario()
            try await scenario.put(into: fixture)
            #expect(try await scenario.attempt(on: fixture.registry).success == .advanced)
            try await fixture.endSession(try #require(scenario.exchange.session).id)
            for generation in [5, 6] as [Int32] {
                scenario.generation = generation
                let dead = try await fixture.writingNothing { try await scenario.attempt(on: fixture.registry) }
                #expect(dead.refusal == .sessionEnded)
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
