import BrokerTesting
import NativeSSO
import StrictCoding
import Testing

extension GrantRegistryConformance {
    static let exchangeChecks = [
        GrantRegistryCheck("exchange: the grant has the requested values") { fixture in
            let scenario = try ExchangeScenario()
            try await scenario.put(into: fixture)
            let (attempt, growth) = try await fixture.counting { try await scenario.attempt(on: fixture.registry) }
            #expect(growth == .growth(grants: 1, liveGrants: 1, auditRows: 1))
            let grant = try #require(attempt.grant)
            #expect(grant.generation == 1)
            #expect(grant.expiresAt == attempt.facts.session?.expiresAt)

            let family = try #require(try await scenario.refresh(grant).attempt(on: fixture.registry).facts.grant)
            #expect(family.client == scenario.target)
            #expect(family.generation == 1)
            #expect(family.revokedAt == nil)
            #expect(family.expiresAt == grant.expiresAt)
            #expect(family.scope.tokens == ExchangeScenario.scope.tokens)
            #expect(family.audiences == scenario.client.audiences)
            #expect(family.session.id == scenario.session?.id)
            #expect(family.session.subject == scenario.subject)
            #expect(family.login == scenario.login)
        },
        GrantRegistryCheck("exchange: a second one advances the grant and gives it the new values") {
            fixture in
            var scenario = try ExchangeScenario()
            try await scenario.put(into: fixture)
            let first = try #require(try await scenario.attempt(on: fixture.registry).grant)
            scenario.scope = Scope(["openid"])
            let (second, growth) = try await fixture.counting { try await scenario.attempt(on: fixture.registry) }
            #expect(growth == .growth(auditRows: 1))
            #expect(second.grant?.id == first.id)
            #expect(second.grant?.generation == 2)
            // An older token gets nothing of the later exchange.
            let late = try await fixture.writingNothing { [scenario] in
                try await scenario.refresh(first).attempt(on: fixture.registry)
            }
            #expect(late.refusal == .superseded)
            #expect(late.facts.grant?.scope == Scope(["openid"]))
        },
        GrantRegistryCheck("exchange: the grant keeps the claims that the latest one copied, until it is revoked") {
            fixture in
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
        GrantRegistryCheck("exchange: the same once more, with another claim, is another exchange") { fixture in
            var scenario = try ExchangeScenario()
            scenario.client.copiedClaims = ["email"]
            try await scenario.put(into: fixture)
            #expect(try await scenario.attempt(on: fixture.registry).grant?.generation == 1)
            scenario.allClaims["email"] = .string("a@b.example")
            #expect(try await scenario.attempt(on: fixture.registry).grant?.generation == 2)
            #expect(try await scenario.attempt(on: fixture.registry).grant?.generation == 2)
        },
        GrantRegistryCheck("exchange: an immediate repetition returns the same generation") {
            fixture in
            let scenario = try ExchangeScenario()
            try await scenario.put(into: fixture)
            let first = try #require(try await scenario.attempt(on: fixture.registry).grant)
            let (again, growth) = try await fixture.counting { try await scenario.attempt(on: fixture.registry) }
            #expect(growth == .growth(auditRows: 1))
            #expect(again.grant?.id == first.id)
            #expect(again.grant?.generation == first.generation)
            // Its answer was used: from here on another exchange goes on.
            #expect(try await scenario.refresh(first).attempt(on: fixture.registry).success == .advanced)
            #expect(try await scenario.attempt(on: fixture.registry).grant?.generation == 3)
        },
        GrantRegistryCheck("exchange: the same scope in another order is a repetition, another scope is none") {
            fixture in
            var scenario = try ExchangeScenario()
            scenario.client.allowedScope = Scope(["openid", "orders", "mail"])
            scenario.scope = Scope(["openid", "orders"])
            try await scenario.put(into: fixture)
            #expect(try await scenario.attempt(on: fixture.registry).grant?.generation == 1)
            scenario.scope = Scope(["orders", "openid"])
            #expect(try await scenario.attempt(on: fixture.registry).grant?.generation == 1)
            for (index, scope) in [["openid", "mail"], ["openid"], ["openid", "orders"]].enumerated() {
                scenario.scope = Scope(scope)
                #expect(try await scenario.attempt(on: fixture.registry).grant?.generation == Int32(index + 2))
            }
        },
        GrantRegistryCheck("exchange: a repetition with another key, or a later one, issues the next generation") {
            fixture in
            var scenario = try ExchangeScenario()
            scenario.client.proofPolicy = .optional
            scenario.client.authentication = .clientSecretBasic
            try await scenario.put(into: fixture)
            for generation in 1...3 as ClosedRange<Int32> {
                scenario.proof = .random()
                #expect(try await scenario.attempt(on: fixture.registry).grant?.generation == generation)
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
            var scenario = try RefreshScenario()
            try await scenario.put(into: fixture)
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
        GrantRegistryCheck("exchange: after a lost refresh answer the app gets new tokens without a login") { fixture in
            var scenario = try RefreshScenario()
            scenario.lose(scenario.grace)
            try await scenario.put(into: fixture)
            #expect(try await scenario.attempt(on: fixture.registry).refusal == .late)
            #expect(try await scenario.exchange.attempt(on: fixture.registry).grant?.generation == 1)
        },
        GrantRegistryCheck("exchange: after a revocation a new grant begins, and the old one stays revoked") {
            fixture in
            let scenario = try ExchangeScenario()
            try await scenario.put(into: fixture)
            let first = try #require(try await scenario.attempt(on: fixture.registry).grant)
            var theft = scenario.refresh(first)
            theft.generation = 2
            #expect(try await theft.attempt(on: fixture.registry).refusal == .stateRegressed)
            let (second, growth) = try await fixture.counting { try await scenario.attempt(on: fixture.registry) }
            #expect(growth == .growth(grants: 1, liveGrants: 1, auditRows: 1))
            #expect(second.grant?.generation == 1)
            #expect(second.grant?.id != first.id)
            #expect(try await scenario.refresh(first).attempt(on: fixture.registry).refusal == .grantRevoked)
        },
        GrantRegistryCheck("exchange: a target uses a source's login up to its scope ceiling") {
            fixture in
            var scenario = try ExchangeScenario()
            scenario.sourceMember = Membership(group: scenario.group, role: .source)
            scenario.targetMember = Membership(
                group: scenario.group, role: .target, scopeCeiling: ExchangeScenario.scope)
            try await scenario.put(into: fixture)
            #expect(try await scenario.attempt(on: fixture.registry).grant != nil)
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
        GrantRegistryCheck("exchange: a permitted client exchanges its own id_token") { fixture in
            var scenario = try ExchangeScenario()
            scenario.allowSelfExchange()
            try await scenario.put(into: fixture)
            #expect(try await scenario.attempt(on: fixture.registry).grant != nil)
        },
        GrantRegistryCheck("exchange: a block of the device at another issuer does not apply") { fixture in
            let scenario = try ExchangeScenario()
            try await scenario.put(into: fixture)
            let elsewhere = Issuer(validated: "https://other.example.com/\(scenario.group)")
            try await fixture.put(DeviceRow(issuer: elsewhere, digest: scenario.digest(), isBlocked: true))
            #expect(try await scenario.attempt(on: fixture.registry).grant != nil)
        },
        GrantRegistryCheck("exchange: a grant ends with its client's lifetime or with the session") {
            fixture in
            for (lifetime, expected) in [(Seconds.days(1), Seconds.days(1)), (.days(60), .days(30))] {
                var scenario = try ExchangeScenario()
                scenario.client.refreshTokenLifetime = lifetime
                try await scenario.put(into: fixture)
                let attempt = try await scenario.attempt(on: fixture.registry)
                let sessionEnd = try #require(attempt.facts.session).expiresAt
                let end = min(attempt.facts.now.adding(expected), sessionEnd)
                #expect(attempt.grant?.expiresAt == end)
            }
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
