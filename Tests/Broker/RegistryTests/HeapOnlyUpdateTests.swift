import BrokerTesting
import NativeSSO
import PostgresClient
import Testing

@Suite("HOT updates", .serialized)
struct HeapOnlyUpdateTests {
    /// A refresh changes no indexed column, so the row stays on its page and no index changes.
    @Test("Every refresh is a HOT update, and adds no row", arguments: [false, true])
    func refreshesAreHot(gathered: Bool) async throws {
        try await TestDatabase.withWorld(overLanes: gathered, gathersFrom: 1) { database, world in
            for generation in Int32(1)...Self.calls {
                let facts = try await database.registry.rotate(world.rotation(generation: generation))
                #expect(facts.effect == .advanced)
            }
            try await Self.expectAllHot(in: database)
        }
    }

    @Test("Every exchange by a client with a live grant is a HOT update", arguments: [false, true])
    func repeatedExchangesAreHot(gathered: Bool) async throws {
        try await TestDatabase.withWorld(overLanes: gathered, gathersFrom: 1) { database, world in
            for _ in 0..<Self.calls {
                let facts = try await database.registry.admit(world.admission())
                #expect(facts.grant?.id == world.grantID)
            }
            try await Self.expectAllHot(in: database)
        }
    }

    private static func expectAllHot(in database: PostgresFixture) async throws {
        try await database.endService()
        let row = try await database.run(counts, [])[0]
        let (updates, hot, rows) = (try row.int64(0), try row.int64(1), try row.int64(2))
        #expect(updates == Int64(calls) && hot == updates && rows == 1)
    }

    /// As many as fit on a page. Beyond that, the result also depends on the server's last cleanup of the page.
    private static let calls: Int32 = 8

    private static let counts = Statement(
        """
        SELECT n_tup_upd, n_tup_hot_upd, (SELECT count(*) FROM native_sso.sso_grant)
        FROM pg_stat_user_tables WHERE schemaname = 'native_sso' AND relname = 'sso_grant'
        """)
}
