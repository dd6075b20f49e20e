import BrokerTesting
import NativeSSO
import Testing

extension GrantRegistryConformance {
    /// RFC 9449: a proof is good once, and what was got with a key is for that key.
    static let proofChecks = pinChecks + bindingChecks + replayChecks

    private static let pinChecks = [
        GrantRegistryCheck("proof: the first key of a client on a device is bound") { fixture in
            var scenario = try await ExchangeScenario.bound().placed(in: fixture)
            let key = try #require(scenario.proof?.key)
            let (first, growth) = try await fixture.counting { try await scenario.attempt(on: fixture.registry) }
            #expect(growth == .init(grants: 1, liveGrants: 1, devices: 1, auditRows: 1, usedProofs: 1))
            #expect(first.facts.boundKey == nil)
            for other in [nil, PresentedProof.random()] {
                scenario.proof = other
                let thief = try await fixture.writingNothing { try await scenario.attempt(on: fixture.registry) }
                #expect(thief.refusal == .pinConflict && thief.defect == nil && thief.facts.boundKey == key)
            }
            scenario.proof = .random(by: key)
            #expect(try await scenario.attempt(on: fixture.registry).grant?.generation == 1)
            // Every app has a key of its own.
            var sibling = scenario.sibling(3)
            sibling.client.proofPolicy = .optional
            sibling.proof = .random()
            sibling.session = nil  // it is there
            try await sibling.put(into: fixture)
            #expect(try await sibling.attempt(on: fixture.registry).grant != nil)
            #expect(try await scenario.again().attempt(on: fixture.registry).grant?.id == first.grant?.id)
        },
        GrantRegistryCheck("proof: no key is bound for a confidential client or with the policy off") { fixture in
            var confidential = try ExchangeScenario.bound()
            confidential.client.authentication = .privateKeyJWT
            try await confidential.put(into: fixture)
            for _ in 0..<2 {
                confidential.proof = .random()
                let attempt = try await confidential.attempt(on: fixture.registry)
                #expect(attempt.grant != nil && attempt.facts.boundKey == nil)
            }
            // Pinned before, and its policy is off by now.
            var off = try ExchangeScenario()
            off.pinnedKey = .random()
            try await off.put(into: fixture)
            #expect(try await off.attempt(on: fixture.registry).grant != nil)
        },
        GrantRegistryCheck("proof: a refusal binds no key but consumes the proof") { fixture in
            var scenario = try ExchangeScenario.bound()
            let scope = scenario.scope
            scenario.spoil(for: .scopeExceedsClient)
            try await scenario.put(into: fixture)
            let (refused, growth) = try await fixture.counting { try await scenario.attempt(on: fixture.registry) }
            #expect(refused.refusal == .scopeExceedsClient && growth == RegistryCounts(usedProofs: 1))
            scenario.scope = scope
            let (again, nothing) = try await fixture.counting { try await scenario.attempt(on: fixture.registry) }
            #expect(again.refusal == .proofReplayed && nothing == RegistryCounts())
            scenario.proof = .random()
            #expect(try await scenario.attempt(on: fixture.registry).grant != nil)
        },
    ]

    private static let bindingChecks = [
        GrantRegistryCheck("binding: another client's own key does not match the family's") { fixture in
            for authentication in Client.Authentication.allCases {
                var scenario = try RefreshScenario.bound()
                scenario.spoil(for: .foreignClient)
                scenario.client.authentication = authentication
                scenario.client.proofPolicy = .optional
                try await scenario.put(into: fixture)
                scenario.proof = .random()
                let thief = try await fixture.writingNothing { try await scenario.attempt(on: fixture.registry) }
                #expect(thief.refusal == .keyMismatch)
            }
        },
        GrantRegistryCheck("binding: a refresh binds neither its family nor the device") { fixture in
            var scenario = try ExchangeScenario()
            scenario.client.proofPolicy = .optional
            try await scenario.put(into: fixture)
            var refresh = scenario.refresh(try #require(try await scenario.attempt(on: fixture.registry).grant))
            for proof in [PresentedProof.random(), .random(), nil] {
                refresh.proof = proof
                let attempt = try await refresh.attempt(on: fixture.registry)
                #expect(attempt.success == .advanced && attempt.facts.grant?.key == nil)
                refresh.generation += 1
            }
            scenario.proof = .random()
            #expect(try await scenario.attempt(on: fixture.registry).grant?.generation == 5)
        },
        GrantRegistryCheck("binding: reuse of a token from before the binding removes the binding") { fixture in
            // A thief spends a copy, and exchanges with a key of their own.
            var owner = try ExchangeScenario()
            owner.client.proofPolicy = .optional
            try await owner.put(into: fixture)
            let grant = try #require(try await owner.attempt(on: fixture.registry).grant)
            var copy = owner.refresh(grant)
            for _ in 0..<2 {
                #expect(try await copy.attempt(on: fixture.registry).success == .advanced)
                copy.generation += 1
            }
            var thief = owner
            thief.proof = .random()
            #expect(try await thief.attempt(on: fixture.registry).grant?.generation == 4)
            #expect(try await owner.attempt(on: fixture.registry).refusal == .pinConflict)
            // The copy's last token was not spent.
            let unspent = try await fixture.writingNothing { try await copy.attempt(on: fixture.registry) }
            #expect(unspent.refusal == .superseded && unspent.defect == nil)
            let (attempt, growth) = try await fixture.counting {
                try await owner.refresh(grant).attempt(on: fixture.registry)
            }
            #expect(attempt.refusal == .replayed && attempt.defect == nil)
            #expect(growth == .init(liveGrants: -1, auditRows: 1))
            #expect(try await thief.again().attempt(on: fixture.registry).refusal == .loginAfterReplay)
            var later = owner
            later.login = Login(authenticatedAt: try await fixture.now().adding(60))
            #expect(try await later.attempt(on: fixture.registry).grant?.generation == 1, "no key is bound any more")
        },
        GrantRegistryCheck("binding: reuse detection keeps the device's binding to another key") { fixture in
            var scenario = try RefreshScenario.bound()
            scenario.exchange.client = scenario.client
            scenario.exchange.pinnedKey = .random()
            scenario.generation = 3
            try await scenario.put(into: fixture)
            #expect(try await scenario.attempt(on: fixture.registry).refusal == .replayed)
            #expect(try await scenario.exchange.attempt(on: fixture.registry).refusal == .pinConflict)
        },
        GrantRegistryCheck("binding: a spent bound token without its key revokes nothing") { fixture in
            let exchange = try await ExchangeScenario.bound().placed(in: fixture)
            let grant = try #require(try await exchange.attempt(on: fixture.registry).grant)
            var refresh = exchange.refresh(grant)
            for _ in 0..<2 {
                refresh.proof = exchange.again().proof
                #expect(try await refresh.attempt(on: fixture.registry).success == .advanced)
                refresh.generation += 1
            }
            #expect(try await exchange.again().attempt(on: fixture.registry).grant?.generation == 4)
            var thief = exchange.refresh(grant)
            thief.proof = nil
            let refused = try await fixture.writingNothing { [thief] in try await thief.attempt(on: fixture.registry) }
            #expect(refused.refusal == .proofMissing)
            thief.proof = exchange.again().proof
            #expect(try await thief.attempt(on: fixture.registry).refusal == .replayed)
        },
        GrantRegistryCheck("binding: a confidential client may change its key but must use one") { fixture in
            var scenario = try RefreshScenario.bound()
            scenario.client.authentication = .privateKeyJWT
            try await scenario.put(into: fixture)
            for generation in [5, 6] as [Int32] {
                scenario.proof = .random()
                scenario.generation = generation
                #expect(try await scenario.attempt(on: fixture.registry).success == .advanced)
            }
            scenario.proof = nil
            scenario.generation = 7
            #expect(try await scenario.attempt(on: fixture.registry).refusal == .proofMissing)
        },
        GrantRegistryCheck("binding: an exchange binds the family to its key or to none") { fixture in
            var scenario = try ExchangeScenario.bound()
            scenario.client.authentication = .clientSecretBasic
            try await scenario.put(into: fixture)
            _ = try await scenario.attempt(on: fixture.registry)
            let other = PresentedProof.random()
            scenario.proof = other
            var refresh = scenario.refresh(try #require(try await scenario.attempt(on: fixture.registry).grant))
            refresh.proof = .random(by: other.key)
            #expect(try await refresh.attempt(on: fixture.registry).facts.grant?.key == other.key)
            scenario.client.proofPolicy = .off
            scenario.proof = nil
            refresh = scenario.refresh(try #require(try await scenario.attempt(on: fixture.registry).grant))
            let unbound = try await refresh.attempt(on: fixture.registry)
            #expect(unbound.success == .advanced && unbound.facts.grant?.key == nil)
        },
        GrantRegistryCheck("binding: a bound family has the longer grace period") { fixture in
            var scenario = try RefreshScenario.bound()
            scenario.lose(scenario.exchange.lifetimes.unboundRefreshGrace)
            try await scenario.put(into: fixture)
            #expect(try await scenario.attempt(on: fixture.registry).success == .redelivered)
            var late = try RefreshScenario.bound()
            late.lose(late.exchange.lifetimes.refreshGrace)
            try await expectRevocation(.late, of: late, on: fixture)
        },
    ]

    private static let replayChecks = [
        GrantRegistryCheck("replay: a redelivery needs a new proof") { fixture in
            var scenario = try await RefreshScenario.bound().placed(in: fixture)
            #expect(try await scenario.attempt(on: fixture.registry).success == .advanced)
            let replay = try await fixture.writingNothing { try await scenario.attempt(on: fixture.registry) }
            #expect(replay.refusal == .proofReplayed && replay.defect == nil)
            scenario.proof = scenario.proof.map { .random(by: $0.key) }
            #expect(try await scenario.attempt(on: fixture.registry).success == .redelivered)
        },
        GrantRegistryCheck("replay: a proof works for an exchange or a refresh, not for both") { fixture in
            let exchange = try await ExchangeScenario.bound().placed(in: fixture)
            var refresh = exchange.refresh(try #require(try await exchange.attempt(on: fixture.registry).grant))
            refresh.proof = exchange.proof
            #expect(try await refresh.attempt(on: fixture.registry).refusal == .proofReplayed)
            var again = exchange
            again.proof = exchange.again().proof
            refresh.proof = again.proof
            #expect(try await refresh.attempt(on: fixture.registry).success == .advanced)
            #expect(try await again.attempt(on: fixture.registry).refusal == .proofReplayed)
        },
        GrantRegistryCheck("race: one of 8 exchanges and 8 refreshes with one proof succeeds") { fixture in
            for _ in 0..<5 {
                var bent = try RefreshScenario.bound()
                bent.exchange.client.proofPolicy = .optional
                bent.exchange.proof = bent.proof
                let scenario = bent
                try await scenario.put(into: fixture)
                let (won, growth) = try await fixture.counting {
                    try await atOnce(16) { number in
                        number % 2 == 0
                            ? try await scenario.exchange.attempt(on: fixture.registry).grant != nil
                            : try await scenario.attempt(on: fixture.registry).success != nil
                    }.count { $0 }
                }
                #expect(won == 1 && growth.usedProofs == 1)
            }
        },
        GrantRegistryCheck("race: one of 8 first keys on a device is bound") { fixture in
            for session in [true, false] {
                var scenario = try session ? ExchangeScenario() : ExchangeScenario.firstSight()
                scenario.client.proofPolicy = .optional
                // The one device is known, the other is not.
                scenario.deviceIsBlocked = session ? false : nil
                try await scenario.put(into: fixture)
                let attempts = try await atOnce(8) { [scenario] in
                    var own = scenario
                    own.proof = .random()
                    return try await own.attempt(on: fixture.registry)
                }
                #expect(attempts.count { $0.grant != nil } == 1)
                #expect(attempts.count { $0.refusal == .pinConflict } == 7)
            }
        },
        GrantRegistryCheck("race: 8 apps with their first keys bind 8 keys") { fixture in
            let scenario = try ExchangeScenario.bound()
            let siblings = (0..<8).map { number in
                var sibling = scenario.sibling(number)
                sibling.client.proofPolicy = .required
                sibling.proof = .random()
                if number > 0 { sibling.session = nil }  // it is there
                return sibling
            }
            for sibling in siblings { try await sibling.put(into: fixture) }
            let attempts = try await atOnce(8) { try await siblings[$0].attempt(on: fixture.registry) }
            #expect(attempts.allSatisfy { $0.grant?.generation == 1 })
            for sibling in siblings {
                var thief = sibling
                thief.proof = .random()
                #expect(try await thief.attempt(on: fixture.registry).refusal == .pinConflict)
            }
        },
    ]
}

extension ExchangeScenario {
    /// App 2 shows a key.
    package static func bound() throws -> ExchangeScenario {
        var scenario = try ExchangeScenario()
        scenario.client.proofPolicy = .optional
        scenario.proof = .random()
        return scenario
    }

    /// The same with a new proof by the same key.
    func again() -> ExchangeScenario {
        var scenario = self
        scenario.proof = proof.map { .random(by: $0.key) }
        return scenario
    }
}

extension RefreshScenario {
    /// A bound grant, and a proof by its key.
    static func bound() throws -> RefreshScenario {
        var scenario = try RefreshScenario()
        scenario.client.proofPolicy = .optional
        let proof = PresentedProof.random()
        scenario.proof = proof
        scenario.grant?.key = proof.key
        return scenario
    }
}
