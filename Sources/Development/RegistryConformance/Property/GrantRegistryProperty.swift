import BrokerTesting
import NativeSSO
import Testing

/// Rules and registry never disagree, whatever the world and whatever is asked.
///
/// Each seed makes one world and one request. A failure names its seed; `exchange(seed:on:)` or `refresh(seed:on:)` with
/// it makes the same world again, under other names.
package enum GrantRegistryProperty {
    /// Runs `worlds` of each kind, one after another.
    /// - Returns: The reasons that were met, and `granted`, `advanced` and `redelivered`; so that a test can see that
    ///   it tried what it meant to try.
    package static func run(
        worlds: Int, seed: UInt64, on fixture: any GrantRegistryFixture
    ) async throws -> Set<String> {
        var met: Set<String> = []
        for offset in 0..<UInt64(clamping: worlds) {
            met.insert("exchange: " + (try await exchange(seed: seed &+ offset, on: fixture)))
            met.insert("refresh: " + (try await refresh(seed: seed &+ offset, on: fixture)))
        }
        return met
    }

    /// One exchange. Returns how it went.
    package static func exchange(seed: UInt64, on fixture: any GrantRegistryFixture) async throws -> String {
        var randomness = SeededRandom(seed: seed)
        let scenario = try ExchangeScenario(using: &randomness)
        try await scenario.put(into: fixture)
        let earlier = try await scenario.putEarlierGrant(into: fixture, using: &randomness)

        let before = try await RegistryLook(at: fixture)
        let attempt = try await scenario.attempt(on: fixture.registry)
        let after = try await RegistryLook(at: fixture)
        let note: Comment = "exchange of seed \(seed)"
        #expect(attempt.defect == nil, note)
        scenario.expectTruth(attempt.facts, note)
        guard let grant = attempt.grant else {
            #expect(before == after, note)
            return attempt.refusal.map { "\($0)" } ?? "broken"
        }
        let sessionWentOn = attempt.facts.session?.id == scenario.session?.id
        // A new session with the same name ends the earlier one if that has not ended yet.
        let endsOne = !sessionWentOn && scenario.session?.isEnded == false
        #expect(after.counts.auditRows == before.counts.auditRows + (endsOne ? 2 : 1), note)
        if let live = earlier, !live.isRevoked, sessionWentOn {
            #expect(grant.id == live.id && grant.generation == live.generation + 1, note)
            #expect(after.counts.grants == before.counts.grants, note)
        } else {
            #expect(grant.generation == 1 && after.counts.grants == before.counts.grants + 1, note)
        }
        let sessionEnd = try #require(attempt.facts.session).expiresAt
        let end = try scenario.checks.grantLifetime.map { attempt.facts.now.adding($0) } ?? sessionEnd
        #expect(grant.expiresAt > attempt.facts.now && grant.expiresAt == min(end, sessionEnd), note)
        return "granted"
    }

    /// One refresh. Returns how it went.
    package static func refresh(seed: UInt64, on fixture: any GrantRegistryFixture) async throws -> String {
        var randomness = SeededRandom(seed: seed)
        var scenario = try RefreshScenario(using: &randomness)
        try await scenario.put(into: fixture)

        let before = try await RegistryLook(at: fixture)
        let attempt = try await scenario.attempt(on: fixture.registry)
        let after = try await RegistryLook(at: fixture)
        let note: Comment = "refresh of seed \(seed)"
        #expect(attempt.defect == nil, note)
        scenario.expectTruth(attempt.facts, note)
        scenario.renewProof()
        let next = try await scenario.attempt(on: fixture.registry)
        #expect(next.defect == nil, note)
        switch attempt.facts.effect {
        case .none, .extended, .unsure:
            #expect(before == after, note)
        case .revoked:
            let lived = scenario.grant?.isRevoked == false
            #expect(after.counts - before.counts == .init(liveGrants: lived ? -1 : 0, auditRows: 1), note)
            #expect(next.refusal == .grantRevoked, note)
        case .advanced:
            #expect(after.counts == before.counts && next.facts.grant?.generation == scenario.generation + 1, note)
            scenario.generation += 1
            scenario.renewProof()
            #expect(try await scenario.attempt(on: fixture.registry).refusal != .stateRegressed, note)
        }
        if attempt.facts.effect == .extended || attempt.facts.effect == .unsure { return attempt.facts.effect.rawValue }
        return attempt.refusal.map { "\($0)" } ?? (attempt.success == .advanced ? "advanced" : "redelivered")
    }
}

extension RefreshScenario {
    fileprivate mutating func renewProof() {
        proof = proof.map { .random(by: $0.key) }
        assertion = assertion.map { _ in .random() }
    }
}

extension ExchangeScenario {
    /// In some worlds the app has, or had, a grant in this session.
    fileprivate func putEarlierGrant(
        into fixture: any GrantRegistryFixture, using randomness: inout SeededRandom
    ) async throws -> GrantRow? {
        guard let session, !wasReplayed, randomness.oneIn(3) else { return nil }
        var row = GrantRow(
            id: .random(), session: session.id, client: target, sourceClient: source, device: session.device,
            expiresIn: 1, scope: Scope(["openid"]), audiences: ["https://old.example.com"])
        row.generation = 7
        row.rotated = .hours(1)
        row.isRevoked = randomness.oneIn(3)
        row.wasReplayed = row.isRevoked && Bool.random(using: &randomness)
        try await fixture.put(row)
        return row
    }
}
