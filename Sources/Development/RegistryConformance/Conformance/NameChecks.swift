import BrokerTesting
import NativeSSO
import Testing

/// A `sid` whose session is dead: which id_token begins another one under it.
extension GrantRegistryConformance {
    static let nameChecks = [
        GrantRegistryCheck("name: after an idle end, a later iat") { fixture in
            var scenario = try ExchangeScenario.named()
            scenario.session?.lastUsed = scenario.lifetimes.sessionIdle
            try await scenario.put(into: fixture)
            let idle = try await scenario.refused(.sessionIdle, on: fixture)
            let end = idle.lastUsedAt.adding(scenario.lifetimes.sessionIdle)
            try await expectRoom(for: scenario, from: end, of: idle, byIssue, on: fixture)
        },
        GrantRegistryCheck("name: after the absolute lifetime, a later auth_time") { fixture in
            var scenario = try ExchangeScenario.named()
            scenario.session?.expiresIn = 0
            try await scenario.put(into: fixture)
            scenario.issuedAt = ExchangeScenario.farFuture
            let expired = try await scenario.refused(.sessionExpired, on: fixture)
            try await expectRoom(for: scenario, from: expired.expiresAt, of: expired, byLogin, on: fixture)
        },
        GrantRegistryCheck("name: after the absolute lifetime of a session without auth_time, a later iat") { fixture in
            var scenario = try ExchangeScenario.named()
            scenario.session?.login = Login()
            scenario.session?.expiresIn = 0
            try await scenario.put(into: fixture)
            let expired = try await scenario.refused(.sessionExpired, on: fixture)
            try await expectRoom(for: scenario, from: expired.expiresAt, of: expired, byIssue, on: fixture)
        },
        GrantRegistryCheck("name: after an operator's end, a later auth_time") { fixture in
            var scenario = try await ExchangeScenario.named().placed(in: fixture)
            try await fixture.endSession(try #require(scenario.session).id)
            scenario.issuedAt = ExchangeScenario.farFuture
            let ended = try await scenario.refused(.sessionEnded, on: fixture)
            try await expectRoom(for: scenario, from: try #require(ended.endedAt), of: ended, byLogin, on: fixture)
        },
        GrantRegistryCheck("name: after an end with which the same login may return, a later iat") { fixture in
            var scenario = try ExchangeScenario.named()
            scenario.session?.isEnded = true
            scenario.session?.iatAfter = scenario.now
            try await scenario.put(into: fixture)
            let ended = try await scenario.refused(.sessionEnded, on: fixture)
            try await expectRoom(for: scenario, from: scenario.now, of: ended, byIssue, on: fixture)
        },
        GrantRegistryCheck("name: after a logout of a login that no app had presented, a later auth_time") { fixture in
            var scenario = try ExchangeScenario.firstSight()
            var mark = try ExchangeScenario.tombstone(of: scenario)
            mark.authTimeAfter = scenario.now
            scenario.session = mark
            try await scenario.put(into: fixture)
            let ended = try await scenario.refused(.sessionEnded, on: fixture)
            try await expectRoom(for: scenario, from: scenario.now, of: ended, byLogin, on: fixture)
        },
        GrantRegistryCheck("name: it stays ended if no session may begin at first sight") { fixture in
            for spoil in [
                { $0.policy = IssuerPolicy(issuer: $0.issuer, profiles: $0.policy.profiles) },
                { $0.isKeyCurrent = false },
                {
                    $0.policy = IssuerPolicy(
                        issuer: $0.issuer, profiles: $0.policy.profiles, admitsOnFirstSight: true,
                        firstSightRequiresUnexpired: true)
                    $0.expiresAt = $0.now
                },
            ] as [@Sendable (inout ExchangeScenario) -> Void] {
                var scenario = try ExchangeScenario.named()
                scenario.session?.lastUsed = scenario.lifetimes.sessionIdle
                scenario.issuedAt = ExchangeScenario.farFuture
                spoil(&scenario)
                try await scenario.put(into: fixture)
                _ = try await scenario.refused(.sessionIdle, on: fixture)
            }
        },
        GrantRegistryCheck("name: 8 apps begin one session under it") { fixture in
            var scenario = try ExchangeScenario.named()
            scenario.session?.lastUsed = scenario.lifetimes.sessionIdle
            scenario.issuedAt = ExchangeScenario.farFuture
            try await scenario.put(into: fixture)
            scenario.session = nil
            let siblings = (0..<8).map { [scenario] in scenario.sibling($0) }
            for sibling in siblings { try await sibling.put(into: fixture) }
            let (attempts, growth) = try await fixture.counting {
                try await atOnce(8) { try await siblings[$0].attempt(on: fixture.registry) }
            }
            #expect(growth == .init(sessions: 1, grants: 8, liveGrants: 8, auditRows: 9))
            #expect(attempts.allSatisfy { $0.grant?.generation == 1 })
        },
    ]

    /// How an id_token says when its login was.
    private typealias Dating = @Sendable (inout ExchangeScenario, UnixTime) -> Void
    private static let byIssue: Dating = { $0.issuedAt = $1 }
    private static let byLogin: Dating = { $0.login = Login(authenticatedAt: $1) }

    /// An id_token of `end` is refused. One of a second later begins another session, which refuses that of `end` from then on.
    private static func expectRoom(
        for scenario: ExchangeScenario, from end: UnixTime, of dead: SessionFacts, _ date: Dating,
        on fixture: any GrantRegistryFixture
    ) async throws {
        var (early, late) = (scenario, scenario)
        date(&early, end)
        date(&late, end.adding(1))
        let refused = try await fixture.writingNothing { try await early.attempt(on: fixture.registry) }
        #expect(refused.grant == nil && refused.facts.session?.id == dead.id)
        let (first, growth) = try await fixture.counting { try await late.attempt(on: fixture.registry) }
        #expect(growth == .init(sessions: 1, grants: 1, liveGrants: 1, auditRows: dead.endedAt == nil ? 2 : 1))
        let session = try #require(first.facts.session)
        #expect(first.grant?.generation == 1 && session.id != dead.id && session.subject == scenario.subject)
        let again = try await fixture.writingNothing { try await early.attempt(on: fixture.registry) }
        #expect(again.refusal == .subjectTokenBeforeEnd && again.facts.session?.id == session.id)
        let sibling = late.sibling(3)
        var rows = sibling
        rows.session = nil
        try await rows.put(into: fixture)
        #expect(try await sibling.attempt(on: fixture.registry).facts.session?.id == session.id)
    }
}

extension ExchangeScenario {
    /// A first sight under the name of a session that is there already.
    fileprivate static func named() throws -> ExchangeScenario {
        var scenario = try ExchangeScenario.firstSight()
        scenario.session = try ExchangeScenario.tombstone(of: scenario)
        scenario.session?.isEnded = false
        scenario.session?.subject = scenario.subject
        scenario.session?.login = scenario.login
        return scenario
    }

    fileprivate func refused(
        _ refusal: ExchangeRefusal, on fixture: any GrantRegistryFixture
    ) async throws -> SessionFacts {
        let attempt = try await fixture.writingNothing { try await self.attempt(on: fixture.registry) }
        #expect(attempt.refusal == refusal)
        return try #require(attempt.facts.session)
    }
}
