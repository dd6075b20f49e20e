import BrokerTesting
import NativeSSO
import StrictCoding
import Testing

extension GrantRegistryConformance {
    static let exchangeChecks = [
        GrantRegistryCheck("exchange: the grant has the requested values") { fixture in
            let scenario = try await ExchangeScenario().placed(in: fixture)
            let (attempt, growth) = try await fixture.counting { try await scenario.attempt(on: fixture.registry) }
            #expect(growth == .init(grants: 1, liveGrants: 1, auditRows: 1))
            let grant = try #require(attempt.grant)
            #expect(grant.generation == 1 && grant.expiresAt == attempt.facts.session?.expiresAt)

            let family = try #require(try await scenario.refresh(grant).attempt(on: fixture.registry).facts.grant)
            #expect(family.client == scenario.target && family.generation == 1 && family.revokedAt == nil)
            #expect(family.expiresAt == grant.expiresAt && family.scope.tokens == ExchangeScenario.scope.tokens)
            #expect(family.audiences == scenario.client.audiences && family.session.id == scenario.session?.id)
            #expect(family.session.subject == scenario.subject && family.login == scenario.login)
        },
        GrantRegistryCheck("exchange: a second one gives the grant the new values") { fixture in
            var scenario = try await ExchangeScenario().placed(in: fixture)
            let first = try #require(try await scenario.attempt(on: fixture.registry).grant)
            scenario.scope = Scope(["openid"])
            let (second, growth) = try await fixture.counting { try await scenario.attempt(on: fixture.registry) }
            #expect(growth == .init(auditRows: 1))
            #expect(second.grant?.id == first.id && second.grant?.generation == 2)
            // An older token gets nothing of the later exchange.
            let late = try await fixture.writingNothing { [scenario] in
                try await scenario.refresh(first).attempt(on: fixture.registry)
            }
            #expect(late.refusal == .superseded && late.facts.grant?.scope == Scope(["openid"]))
        },
        GrantRegistryCheck("exchange: the grant keeps the latest claims until it is revoked") { fixture in
            var scenario = try ExchangeScenario()
            scenario.client.copiedClaims = ["email", "roles"]
            scenario.allClaims["roles"] = .array([.string("reader"), .number(JSONNumber(7))])
            scenario.allClaims["other"] = .bool(true)
            try await scenario.put(into: fixture)
            let first = try #require(try await scenario.attempt(on: fixture.registry).grant)
            var family = try await scenario.refresh(first).attempt(on: fixture.registry).facts.grant
            #expect(family?.claims.text == #"{"roles":["reader",7]}"#)

            scenario.allClaims = JSONObject()
            scenario.allClaims["email"] = .string("\u{0}ä")
            let second = try #require(try await scenario.attempt(on: fixture.registry).grant)
            #expect(second.generation == 3)
            // An older token sees them too, and a theft deletes them.
            var late = scenario.refresh(second)
            family = try await late.attempt(on: fixture.registry).facts.grant
            #expect(family?.claims.text == #"{"email":"\u0000ä"}"#)
            late.generation = 4
            #expect(try await late.attempt(on: fixture.registry).success == .advanced)
            late.generation = 3
            #expect(try await late.attempt(on: fixture.registry).refusal == .replayed)
            #expect(try await late.attempt(on: fixture.registry).facts.grant?.claims.text == nil)
        },
        GrantRegistryCheck("exchange: an immediate repetition returns the same generation") { fixture in
            let scenario = try await ExchangeScenario().placed(in: fixture)
            let first = try #require(try await scenario.attempt(on: fixture.registry).grant)
            let (again, growth) = try await fixture.counting { try await scenario.attempt(on: fixture.registry) }
            #expect(growth == .init(auditRows: 1))
            #expect(again.grant?.id == first.id && again.grant?.generation == first.generation)
            // Its answer was used: from here on another exchange goes on.
            #expect(try await scenario.refresh(first).attempt(on: fixture.registry).success == .advanced)
            #expect(try await scenario.attempt(on: fixture.registry).grant?.generation == 3)
        },
        GrantRegistryCheck("exchange: another scope, claim or key, or a later repetition, issues the next generation") {
            fixture in
            var scenario = try ExchangeScenario()
            scenario.client.allowedScope = Scope(["openid", "orders", "mail"])
            scenario.client.copiedClaims = ["email"]
            scenario.client.proofPolicy = .optional
            scenario.client.authentication = .clientSecretBasic
            scenario.scope = Scope(["openid", "orders"])
            try await scenario.put(into: fixture)
            let steps: [(generation: Int32, change: @Sendable (inout ExchangeScenario) -> Void)] = [
                (1, { _ in }), (1, { $0.scope = Scope(["orders", "openid"]) }),
                (2, { $0.scope = Scope(["openid", "mail"]) }), (3, { $0.scope = Scope(["openid"]) }),
                (4, { $0.allClaims["email"] = .string("a@b.example") }), (4, { _ in }),
                (5, { $0.proof = .random() }), (6, { $0.proof = .random() }),
            ]
            for step in steps {
                step.change(&scenario)
                #expect(try await scenario.attempt(on: fixture.registry).grant?.generation == step.generation)
            }
            let late = try RefreshScenario()
            var row = try #require(late.grant)
            row.generation = 4
            row.exchangedGeneration = 4
            row.rotated = 10
            row.scope = ExchangeScenario.scope
            try await late.exchange.put(into: fixture)
            try await fixture.put(row)
            #expect(try await late.exchange.attempt(on: fixture.registry).grant?.generation == 5)
        },
        GrantRegistryCheck("exchange: after reuse only a later login begins a family") { fixture in
            var scenario = try await RefreshScenario().placed(in: fixture)
            scenario.generation = 3
            #expect(try await scenario.attempt(on: fixture.registry).refusal == .replayed)
            let before = try await fixture.now()
            var exchange = scenario.exchange
            for login in [exchange.login, Login(), Login(authenticatedAt: before.before(60))] {
                exchange.login = login
                let thief = try await fixture.writingNothing { try await exchange.attempt(on: fixture.registry) }
                #expect(thief.refusal == .loginAfterReplay)
            }
            var sibling = exchange.sibling(1)
            sibling.session = nil  // it is there
            try await sibling.put(into: fixture)
            #expect(try await sibling.attempt(on: fixture.registry).grant != nil, "only the pair was stolen")

            let old = exchange.login
            exchange.login = Login(authenticatedAt: before.adding(60))
            #expect(try await exchange.attempt(on: fixture.registry).grant?.generation == 1)
            exchange.login = old
            #expect(try await exchange.attempt(on: fixture.registry).refusal == .loginAfterReplay)
        },
        GrantRegistryCheck("exchange: several audiences of one group are accepted") { fixture in
            var scenario = try ExchangeScenario()
            let other = ClientID(validated: "app-three-\(scenario.group)")
            scenario.otherAudience = [other, scenario.target]
            try await scenario.put(into: fixture)
            try await fixture.put(client: other, isEnabled: true)
            let membership = Membership(group: scenario.group, role: .target)
            try await fixture.put(MemberRow(issuer: scenario.issuer, client: other, membership: membership))
            #expect(try await scenario.attempt(on: fixture.registry).grant != nil)
        },
        GrantRegistryCheck("exchange: a block of the device at another issuer does not apply") { fixture in
            let scenario = try await ExchangeScenario().placed(in: fixture)
            let elsewhere = Issuer(validated: "https://other.example.com/\(scenario.group)")
            try await fixture.put(DeviceRow(issuer: elsewhere, digest: scenario.digest(), isBlocked: true))
            #expect(try await scenario.attempt(on: fixture.registry).grant != nil)
        },
        GrantRegistryCheck("exchange: a use restarts the idle limit") { fixture in
            var scenario = try ExchangeScenario()
            scenario.session?.lastUsed = .days(29)
            try await scenario.put(into: fixture)
            _ = try await scenario.attempt(on: fixture.registry)
            let next = try await scenario.attempt(on: fixture.registry).facts
            #expect(try next.now.since(#require(next.session).lastUsedAt) < .minutes(1))
        },
    ]
}

extension ExchangeScenario {
    /// The refresh with the token that this exchange gave.
    func refresh(_ grant: GrantFacts) -> RefreshScenario {
        RefreshScenario(after: self, grantID: grant.id, generation: grant.generation)
    }
}
