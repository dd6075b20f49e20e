import NativeSSO
import PostgresClient
import PrivateCluster
import Testing

@testable import Registry

@Suite("Following the audit", .serialized, .timeLimit(.minutes(5)))
struct AuditExportTests {
    /// Reads until all of these kinds were read. Transactions of other databases of the cluster may delay them.
    /// - Returns: The kinds in their order, and what was told of gaps.
    private static func read(
        until kinds: Set<String>, _ cursor: inout AuditCursor, _ pool: ConnectionPool, limit: Int64 = 1000
    ) async throws -> (kinds: [String], gaps: [AuditGap]) {
        let administration = Administration(pool: pool)
        var (found, gaps): ([String], [AuditGap]) = ([], [])
        while !kinds.isSubset(of: found) {
            let page = try await administration.audit(&cursor, limit: limit)
            if let gap = page.gap { gaps.append(gap) }
            found += page.records.map(\.kind)
            if page.isLast { await Task.yield() }
        }
        return (found, gaps)
    }

    @Test("Pages end within a transaction, and a new reader goes on there")
    func pages() async throws {
        try await TestDatabase.withFixture { database in
            let kinds = (1...7).map { "event-\($0)" }
            for part in [kinds[..<5], kinds[5...]] {
                _ = try await database.superuser.query(ExportSQL.record, [.textArray(Array(part))])
            }
            for limit in [1, 2, 3, 100] as [Int64] {
                var (cursor, found) = (AuditCursor(), [String]())
                while found.count < kinds.count {
                    let page = try await database.administration.audit(&cursor, limit: limit)
                    #expect(page.gap == nil && page.records.count <= limit)
                    found += page.records.map(\.kind).filter { kinds.contains($0) }
                    if let mark = page.records.last?.mark { cursor = AuditCursor(after: mark) }
                }
                #expect(found == kinds, "\(limit)")
            }
        }
    }

    @Test("A reader who was away while retention removed a month is told")
    func retention() async throws {
        try await TestDatabase.withFixture { database in
            let superuser = database.superuser
            for statement in ExportSQL.addOldMonth { try await database.run(statement, []) }
            var cursor = AuditCursor()
            _ = try await Self.read(until: ["old-1", "old-2"], &cursor, superuser)
            var (away, first) = (AuditCursor(), AuditMark?.none)
            while first == nil {
                let page = try await Administration(pool: superuser).audit(&away, limit: 1)
                first = page.records.first { $0.kind == "old-1" }?.mark
            }
            try await database.run(ExportSQL.removeOldMonth, [])
            _ = try await superuser.query(ExportSQL.record, [.textArray(["new"])])
            let told = try await Self.read(until: ["new"], &away, superuser)
            #expect(told.gaps == [AuditGap(cause: .retention, after: first)])
            #expect(!told.kinds.contains("old-2") && told.kinds.filter { $0 == "new" }.count == 1)
            // This one had read everything.
            let untold = try await Self.read(until: ["new"], &cursor, superuser)
            #expect(untold.gaps.isEmpty && untold.kinds == ["new"])
        }
    }

    @Test("A database that lost the last event, or never had its transaction, is told, and its events come again")
    func databaseWentBack() async throws {
        try await TestDatabase.withFixture { database in
            let superuser = database.superuser
            var cursor = AuditCursor()
            _ = try await superuser.query(ExportSQL.record, [.textArray(["kept"])])
            _ = try await superuser.query(ExportSQL.record, [.textArray(["lost"])])
            _ = try await Self.read(until: ["kept", "lost"], &cursor, superuser)
            for statement in ExportSQL.lose { try await database.run(statement, []) }
            _ = try await superuser.query(ExportSQL.record, [.textArray(["new"])])
            let again = try await Self.read(until: ["new"], &cursor, superuser)
            #expect(again.gaps.map(\.cause) == [.databaseWentBack] && again.kinds.suffix(2) == ["kept", "new"])

            let position = AuditRecord.Position(microseconds: Int64.max >> 8, partition: 1, row: "(0,1)")
            var ahead = AuditCursor(after: AuditMark(transaction: 1 << 60, position: position))
            let page = try await Administration(pool: superuser).audit(&ahead)
            #expect(page.gap?.cause == .databaseWentBack && page.records.isEmpty && !page.isLast)
        }
    }

    /// Transactions that recorded nothing were lost by a failover, and others use their numbers.
    @Test("A number that was passed on another server is read again")
    func anotherServer() async throws {
        try await TestDatabase.withFixture { database in
            var cursor = AuditCursor()
            _ = try await database.superuser.query(ExportSQL.record, [.textArray(["first"])])
            _ = try await Self.read(until: ["first"], &cursor, database.superuser)
            let last = try await database.run(ExportSQL.last, [])[0].int64(0)
            for _ in 0..<3 { try await database.run(ExportSQL.pass, []) }
            _ = try await database.administration.audit(&cursor)
            try await database.run(ExportSQL.recordIn, [.int64(last + 1)])
            cursor.server = 1
            let again = try await Self.read(until: ["anew"], &cursor, database.superuser)
            #expect(again.gaps.isEmpty && again.kinds == ["anew"])
        }
    }

    @Test("The role reads the audit, and may do nothing else")
    func role() async throws {
        try await TestDatabase.withFixture { database in
            try await database.cluster.makeLogin(role: "audit_reader", "IN ROLE native_sso_audit")
            let reader = ConnectionPool(
                try TestDatabase.configuration(
                    database.cluster, database: database.name, user: "audit_reader", connections: 1))
            try await ending {
                _ = try await database.superuser.query(ExportSQL.record, [.textArray(["read"])])
                var cursor = AuditCursor()
                #expect(try await Self.read(until: ["read"], &cursor, reader).kinds.contains("read"))
                for statement in RoleSQL.forbidden + RoleSQL.ofSupport + RoleSQL.allowed + ExportSQL.forbidden {
                    let state = try await reader.refusal(of: statement)
                    #expect(state?.code == "42501", "insufficient_privilege: \(statement.text)")
                }
                let rights = try await database.run(ExportSQL.rights, []).map { try $0.text(0) }
                #expect(rights == ["audit_line"])
            } with: {
                await reader.shutdown()
            }
        }
    }
}

private enum ExportSQL {
    /// $1 kinds, in one transaction.
    static let record = Statement(
        """
        INSERT INTO native_sso.audit_event (occurred_at, kind)
        SELECT now(), kind FROM unnest($1::text[]) WITH ORDINALITY AS event (kind, number) ORDER BY number
        """)
    static let last = Statement("SELECT max(recorded_in) FROM native_sso.audit_event")
    /// Uses a number up.
    static let pass = Statement("SELECT pg_current_xact_id()::text")
    /// $1 the transaction.
    static let recordIn = Statement(
        "INSERT INTO native_sso.audit_event (occurred_at, kind, recorded_in) VALUES (now(), 'anew', $1)")
    static let addOldMonth = [
        Statement(
            """
            CREATE TABLE native_sso.audit_event_p2020_01 PARTITION OF native_sso.audit_event
            FOR VALUES FROM ('2020-01-01T00:00:00Z') TO ('2020-02-01T00:00:00Z')
            """),
        Statement(
            """
            INSERT INTO native_sso.audit_event (occurred_at, kind)
            VALUES ('2020-01-02T00:00:00Z', 'old-1'), ('2020-01-03T00:00:00Z', 'old-2')
            """),
    ]
    static let removeOldMonth = Statement("TRUNCATE native_sso.audit_event_p2020_01")
    static let lose = [
        Statement("ALTER TABLE native_sso.audit_event DISABLE TRIGGER USER"),
        Statement("DELETE FROM native_sso.audit_event WHERE kind = 'lost'"),
    ]
    static let forbidden = [
        Statement("DELETE FROM native_sso.audit_line"),
        Statement("UPDATE native_sso.audit_line SET reason = ''"),
        Statement("INSERT INTO native_sso.audit_line (occurred_at, kind) VALUES (now(), 'x')"),
    ]
    /// The relations and functions that the role may use, with more than reading as such.
    static let rights = Statement(
        """
        SELECT c.relname || CASE WHEN has_table_privilege('native_sso_audit', c.oid,
            'INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER') THEN ' and may change it' ELSE '' END
        FROM pg_class c
        WHERE c.relnamespace = 'native_sso'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm')
            AND has_table_privilege('native_sso_audit', c.oid,
                'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
        UNION ALL SELECT p.proname::text FROM pg_proc p
        WHERE p.pronamespace = 'native_sso'::regnamespace
            AND has_function_privilege('native_sso_audit', p.oid, 'EXECUTE')
        """)
}
