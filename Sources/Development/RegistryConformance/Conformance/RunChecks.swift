package import NativeSSO
import Testing

extension GrantRegistryConformance {
    /// The table at the head of refresh.sql, row by row, then whole sequences. The grant is at generation 9.
    /// An exchange started its current token family at 6. Generations 2 and 3 were spent before.
    static let runChecks: [GrantRegistryCheck] =
        [
            row("the holder", presents: 9) { $0.success == .advanced },
            row("a lost answer", presents: 8, rotated: 0) { $0.success == .redelivered },
            row("a lost answer, late", presents: 8) { $0.refusal == .late },
            row("what it gave was presented", presents: 7) { $0.refusal == .replayed },
            row("what it gave was presented: the exchange's own", presents: 6) { $0.refusal == .replayed },
            row("the exchange took its place", presents: 5) { $0.refusal == .superseded },
            row("the exchange took its place, in the grace", presents: 5, rotated: 0) { $0.refusal == .superseded },
            row("the exchange took the place of what a refresh gave", presents: 4) { $0.refusal == .superseded },
            row("spent before the exchange", presents: 3) { $0.refusal == .replayed },
            row("spent before the exchange, first", presents: 2) { $0.refusal == .replayed },
            row("before all that was spent", presents: 1) { $0.refusal == .superseded },
            row("ahead", presents: 10) { $0.refusal == .stateRegressed },
            row("just exchanged: the one before", presents: 8, rotated: 0, exchanged: 9) { $0.refusal == .superseded },
            row("just exchanged: the one before, late", presents: 8, exchanged: 9) { $0.refusal == .superseded },
            row("just exchanged: two before", presents: 7, exchanged: 9) { $0.refusal == .superseded },
            row("came late: the successor", presents: 9, cameLate: true) { $0.refusal == .replayed },
            row("came late: the exchange's own", presents: 9, exchanged: 9, cameLate: true) {
                $0.refusal == .grantRevoked
            },
            row("came late: the same again", presents: 8, cameLate: true) { $0.refusal == .grantRevoked },
            row("came late: what was spent before that", presents: 7, cameLate: true) { $0.refusal == .replayed },
            row("came late: superseded", presents: 5, cameLate: true) { $0.refusal == .grantRevoked },
            row("came late: spent before the exchange", presents: 3, cameLate: true) { $0.refusal == .replayed },
            row("came late: ahead", presents: 10, cameLate: true) { $0.refusal == .grantRevoked },
            GrantRegistryCheck("family: a late token proves no reuse of another client or without the key") { fixture in
                var scenario = try scenario(presents: 9, cameLate: true)
                scenario.spoil(for: .foreignClient)
                try await scenario.put(into: fixture)
                let foreign = try await fixture.writingNothing { try await scenario.attempt(on: fixture.registry) }
                #expect(foreign.refusal == .grantRevoked)
                var bound = try Self.scenario(presents: 9, cameLate: true)
                bound.spoil(for: .proofMissing)
                try await bound.put(into: fixture)
                let keyless = try await fixture.writingNothing { try await bound.attempt(on: fixture.registry) }
                #expect(keyless.refusal == .grantRevoked)
            },
        ] + [
            GrantRegistryCheck("family: without an answer the predecessor stays good") { fixture in
                // One hour after the rotation, which is longer than every grace period.
                var scenario = try await scenario(presents: 8).placed(in: fixture)
                let nine = RefreshToken(grantID: scenario.grantID, generation: 9)
                try await fixture.registry.markUnanswered(nine)
                for _ in 0..<3 {
                    #expect(try await scenario.attempt(on: fixture.registry).success == .redelivered)
                }
                scenario.generation = 9
                #expect(try await scenario.attempt(on: fixture.registry).success == .advanced)
                // The mark belongs to one generation: it comes too late for this one, and does not outlive it.
                try await fixture.registry.markUnanswered(nine)
                scenario.generation = 8
                #expect(try await scenario.attempt(on: fixture.registry).refusal == .replayed)
            },
            GrantRegistryCheck("family: a mark changes no restarted or revoked grant") { fixture in
                let exchanged = try await scenario(presents: 8, exchanged: 9).placed(in: fixture)
                try await fixture.registry.markUnanswered(RefreshToken(grantID: exchanged.grantID, generation: 9))
                #expect(try await exchanged.attempt(on: fixture.registry).refusal == .superseded)
                let late = try await scenario(presents: 8, cameLate: true).placed(in: fixture)
                try await fixture.registry.markUnanswered(RefreshToken(grantID: late.grantID, generation: 9))
                #expect(try await late.attempt(on: fixture.registry).refusal == .grantRevoked)
            },
            GrantRegistryCheck("family: a spent token is detected even after 15 exchanges") { fixture in
                for exchanges in [1, 3, 15] {
                    let exchange = try await ExchangeScenario().placed(in: fixture)
                    let stolen = try #require(try await exchange.attempt(on: fixture.registry).grant)
                    var thief = exchange.refresh(stolen)
                    for _ in 0..<exchanges {
                        for _ in 0..<2 {
                            #expect(try await thief.attempt(on: fixture.registry).success == .advanced)
                            thief.generation += 1
                        }
                        #expect(try await exchange.attempt(on: fixture.registry).grant?.id == stolen.id)
                        thief.generation += 1
                    }
                    var part = exchange.refresh(stolen)
                    part.generation = thief.generation - 2
                    #expect(try await part.attempt(on: fixture.registry).refusal == .superseded, "it was not spent")
                    let owner = exchange.refresh(stolen)
                    let (attempt, growth) = try await fixture.counting { try await owner.attempt(on: fixture.registry) }
                    #expect(attempt.refusal == .replayed && attempt.defect == nil)
                    #expect(growth == .init(liveGrants: -1, auditRows: 1))
                    #expect(try await exchange.attempt(on: fixture.registry).refusal == .loginAfterReplay)
                }
            },
            GrantRegistryCheck("family: after many exchanges the oldest spent tokens are forgotten") { fixture in
                let exchange = try await ExchangeScenario().placed(in: fixture)
                let first = try #require(try await exchange.attempt(on: fixture.registry).grant)
                var holder = exchange.refresh(first)
                for _ in 0..<18 {
                    for _ in 0..<2 {
                        #expect(try await holder.attempt(on: fixture.registry).success == .advanced)
                        holder.generation += 1
                    }
                    #expect(try await exchange.attempt(on: fixture.registry).grant?.id == first.id)
                    holder.generation += 1
                }
                // Of each run the first token was spent, and the next two were not.
                for generation in [1, 2, 3, 4, 5, 6, 8] as [Int32] {
                    var part = exchange.refresh(first)
                    part.generation = generation
                    let attempt = try await fixture.writingNothing { try await part.attempt(on: fixture.registry) }
                    #expect(attempt.refusal == .superseded, "\(generation)")
                }
                var spent = exchange.refresh(first)
                spent.generation = 7
                #expect(try await spent.attempt(on: fixture.registry).refusal == .replayed)
            },
            GrantRegistryCheck("family: a late token's successor proves reuse, even after an exchange") { fixture in
                var thief = try RefreshScenario()
                thief.lose(thief.grace)
                try await thief.put(into: fixture)
                #expect(try await thief.attempt(on: fixture.registry).refusal == .late)
                let since = try #require(try await thief.exchange.attempt(on: fixture.registry).grant)
                var owner = thief
                owner.generation += 1
                let (attempt, growth) = try await fixture.counting { [owner] in
                    try await owner.attempt(on: fixture.registry)
                }
                #expect(attempt.refusal == .replayed && attempt.defect == nil)
                #expect(growth == .init(liveGrants: -1, auditRows: 2))
                #expect(try await thief.exchange.refresh(since).attempt(on: fixture.registry).refusal == .grantRevoked)
                #expect(try await thief.exchange.attempt(on: fixture.registry).refusal == .loginAfterReplay)
                #expect(try await owner.attempt(on: fixture.registry).refusal == .grantRevoked)
            },
            GrantRegistryCheck("family: after reuse only a later login's family goes on") { fixture in
                var thief = try RefreshScenario()
                thief.lose(thief.grace)
                try await thief.put(into: fixture)
                #expect(try await thief.attempt(on: fixture.registry).refusal == .late)
                var later = thief.exchange
                later.login = Login(authenticatedAt: try await fixture.now().adding(60))
                let since = try #require(try await later.attempt(on: fixture.registry).grant)
                var owner = thief
                owner.generation += 1
                #expect(try await owner.attempt(on: fixture.registry).refusal == .replayed)
                #expect(try await thief.exchange.attempt(on: fixture.registry).refusal == .loginAfterReplay)
                #expect(try await later.refresh(since).attempt(on: fixture.registry).success == .advanced)
                #expect(try await later.attempt(on: fixture.registry).grant?.id == since.id)
            },
        ]

    private static func row(
        _ what: String, presents generation: Int32, rotated: Seconds = .hours(1), exchanged: Int32 = 6,
        cameLate: Bool = false, _ isRight: @escaping @Sendable (RefreshAttempt) -> Bool
    ) -> GrantRegistryCheck {
        GrantRegistryCheck("family: \(what): \(generation) of 9, exchanged at \(exchanged)") { fixture in
            let scenario = try scenario(
                presents: generation, rotated: rotated, exchanged: exchanged, cameLate: cameLate)
            try await scenario.put(into: fixture)
            let before = try await fixture.digestOfState()
            let attempt = try await scenario.attempt(on: fixture.registry)
            #expect(isRight(attempt), "\(attempt.decision)")
            #expect(attempt.defect == nil)
            let writes = attempt.success == .advanced || attempt.refusal?.revokesGrant == true
            #expect((try await fixture.digestOfState() != before) == writes)
        }
    }

    private static func scenario(
        presents generation: Int32, rotated: Seconds = .hours(1), exchanged: Int32 = 6, cameLate: Bool = false
    ) throws -> RefreshScenario {
        var scenario = try RefreshScenario()
        scenario.generation = generation
        scenario.grant?.generation = 9
        scenario.grant?.exchangedGeneration = exchanged
        scenario.grant?.spent = [2...3]
        scenario.grant?.rotated = rotated
        scenario.grant?.isRevoked = cameLate
        scenario.grant?.cameLate = cameLate
        return scenario
    }
}

extension RefreshScenario {
    /// Asks a registry as the broker does, and judges its answer by the rules of the core.
    package func attempt(on registry: any GrantRegistry) async throws -> RefreshAttempt {
        let asked = rotation
        let facts = try await registry.rotate(asked)
        do throws(RefreshError) {
            return RefreshAttempt(facts: facts, decision: .success(try decide(asked, facts).0))
        } catch {
            return RefreshAttempt(facts: facts, decision: .failure(error))
        }
    }
}

/// What a registry answered, and what the rules make of it.
package struct RefreshAttempt: Sendable {
    package let facts: RotationFacts
    package let decision: Result<RefreshDecision, RefreshError>

    package var refusal: RefreshRefusal? {
        if case .failure(.refused(let refusal)) = decision { refusal } else { nil }
    }

    package var success: RefreshDecision? {
        if case .success(let decision) = decision { decision } else { nil }
    }

    package var isOutage: Bool { if case .failure(.outage) = decision { true } else { false } }

    /// Where rules and registry disagree.
    package var defect: String? {
        if case .failure(.broken(let defect)) = decision { defect } else { nil }
    }
}
