import NativeSSO
import PostgresClient
import Registry
import RegistryConformance
import Testing

/// What PostgreSQL alone does with hand-offs. `GrantRegistryConformance` has the rules.
@Suite("Hand-offs in PostgreSQL", .serialized)
struct PostgresHandoffRegistryTests {
    @Test("A code is refused as expired for an hour, and then a sweep deletes it")
    func sweeps() async throws {
        try await TestDatabase.withFixture { database in
            let scenario = try await HandoffScenario().placed(in: database)
            #expect(try await scenario.make(on: database.handoffs).refusal == nil)
            try await database.passHandoffLife()
            _ = try await database.run(RetentionSQL.sweepProofsFirst, [])
            #expect(try await scenario.redeem(on: database.handoffs).refusal == .handoff(.codeExpired))
            _ = try await database.run(HandoffSQL.age, [])
            #expect(try await Sweeper(database: database.superuser).prospect().proofs == 1)
            #expect(try await database.run(RetentionSQL.sweepProofsFirst, [])[0].int64(0) == 1)
            #expect(try await database.handoffs.handoff(scenario.code) == nil)
        }
    }

    @Test("The registry reads back what the redemption is judged by")
    func keeps() async throws {
        try await TestDatabase.withFixture { database in
            var scenario = try HandoffScenario(profile: .deviceID)
            scenario.exchange.otherAudience = [scenario.web.id]
            try await scenario.put(into: database)
            #expect(try await scenario.make(on: database.handoffs).refusal == nil)
            let kept = try #require(try await database.handoffs.handoff(scenario.code))
            let written = KeptHandoff(try scenario.entry)
            #expect(kept.challenge == written.challenge && kept.origin == written.origin)
            #expect(kept.client == written.client)
            #expect(kept.audience == written.audience && kept.sid == written.sid && kept.device == written.device)
            #expect(kept.profile == .deviceID && kept.scope == written.scope)
            let (a, b) = (kept.idToken, written.idToken)
            #expect(a.issuer == b.issuer && a.subject == b.subject && a.sourceClient == b.sourceClient)
            #expect(a.audience == b.audience && a.issuedAt == b.issuedAt && a.expiresAt == b.expiresAt)
            #expect(a.login == b.login && a.isKeyCurrent == b.isKeyCurrent)
        }
    }

    @Test("The audit names both apps, and the request that made the code")
    func audits() async throws {
        try await TestDatabase.withFixture { database in
            let scenario = try await HandoffScenario().placed(in: database)
            #expect(try await scenario.make(on: database.handoffs).refusal == nil)
            #expect(try await scenario.redeem(on: database.handoffs).grant != nil)
            let rows = try await database.run(HandoffSQL.audit, []).map { try $0.text(0) }
            #expect(
                rows == [
                    "handoff_made \(scenario.exchange.target) \(scenario.web.id)",
                    "handoff_redeemed \(scenario.web.id) \(scenario.exchange.target)",
                ])
            #expect(try await database.run(HandoffSQL.unlinked, [])[0].int64(0) == 0)
        }
    }
}

enum HandoffSQL {
    static let age = Statement("UPDATE native_sso.web_handoff SET expires_at = now() - interval '61 minutes'")
    static let audit = Statement(
        """
        SELECT concat_ws(' ', kind, client_id, coalesce(details ->> 'web_client', details ->> 'app'))
        FROM native_sso.audit_event WHERE kind LIKE 'handoff%' ORDER BY occurred_at
        """)
    /// Redemptions whose code no audited request made.
    static let unlinked = Statement(
        """
        SELECT count(*) FROM native_sso.audit_event r WHERE r.kind = 'handoff_redeemed' AND NOT EXISTS (
            SELECT FROM native_sso.audit_event m
            WHERE m.kind = 'handoff_made' AND m.request_id = (r.details ->> 'made_by')::uuid)
        """)
}
