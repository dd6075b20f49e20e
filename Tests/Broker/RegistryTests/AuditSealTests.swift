import BrokerTesting
import Glibc
import NativeSSO
import PostgresClient
import Testing

@testable import Registry

@Suite("Seals of the audit", .serialized, .timeLimit(.minutes(5)))
struct AuditSealTests {
    private static let keys = SoftwareMACKeys()

    private struct Clock: WallClock {
        var milliseconds: Int64 { Int64(time(nil)) * 1000 }
    }

    private static func sealer(_ database: PostgresFixture) -> AuditSealer {
        AuditSealer(database: database.service, authenticator: keys, clock: Clock(), spacing: 0)
    }

    private static func verify(
        _ database: PostgresFixture, from: UnixTime? = nil, _ checkpoints: [AuditCheckpoint] = [], batch: Int64 = 2
    ) async throws -> AuditVerification {
        try await Administration(pool: database.superuser).verifyAudit(
            from: from, checkpoints: checkpoints, authenticator: keys, batch: batch, at: Clock().now)
    }

    /// Seals all that is there: transactions of other databases of the cluster may delay it.
    private static func seal(_ database: PostgresFixture, by sealer: AuditSealer) async throws {
        repeat { _ = try await sealer.run() } while try await verify(database).unsealed > 0
    }

    /// Three seals of one, two and three events.
    private static func withSeals(
        _ body: @Sendable (PostgresFixture, AuditSealer) async throws -> Void
    ) async throws {
        try await TestDatabase.withFixture { database in
            let sealer = sealer(database)
            for count in 1...3 as ClosedRange<Int64> {
                try await database.run(SealSQL.record, [.int64(count)])
                try await seal(database, by: sealer)
            }
            try await body(database, sealer)
        }
    }

    @Test("Every event is sealed once, and every seal has a tag")
    func sealsAll() async throws {
        try await Self.withSeals { database, _ in
            let found = try await Self.verify(database)
            #expect(found.findings.isEmpty && found.doubts.isEmpty, "\(found.findings)")
            #expect(found.events == 6 && found.unsealed == 0)
            #expect(found.lastTagged == found.seals)
            for later in [Clock().now.adding(60), UnixTime(seconds: .max)] {
                #expect(try await Self.verify(database, from: later).seals == 0)
            }
        }
    }

    @Test(
        "What the owner of the database changes is found, and named",
        arguments: [
            (SealSQL.change, "an event was changed"), (SealSQL.delete, "1 event is missing"),
            (SealSQL.add, "1 event is too many"), (SealSQL.addInAnotherMonth, "no seal has them"),
            (SealSQL.addFromTheFuture, "have not happened yet"), (SealSQL.removeASeal, "seal 2 is missing"),
            (SealSQL.changeASeal, "was changed: its chain does not follow"),
            (SealSQL.makeTheChainAnew, "has a tag that no broker with these keys made"),
            (SealSQL.makeTheChainAnewWithoutTags, "has no tag"),
            (SealSQL.claimRetention, "before retention may do so"),
        ])
    func findsChanges(statement: Statement, finding: String) async throws {
        try await Self.withSeals { database, sealer in
            try await database.run(SealSQL.unguard, [])
            try await database.run(statement, [])
            let found = try await Self.verify(database)
            #expect(found.findings.contains { $0.contains(finding) }, "\(found.findings)")
            // What comes later does not heal it.
            try await database.run(SealSQL.record, [.int64(1)])
            _ = try? await sealer.run()
            #expect(try await Self.verify(database).findings.contains { $0.contains(finding) })
        }
    }

    @Test("A chain that lost its end is found by a checkpoint, and by a broker that saw the end")
    func findsALostEnd() async throws {
        try await Self.withSeals { database, sealer in
            let last = try #require(try await Administration(pool: database.superuser).lastSeal())
            let checkpoint = AuditCheckpoint(number: last.number, chain: last.chain)
            #expect(try await Self.verify(database, [checkpoint]).checkpoint == last.number)
            try await database.run(SealSQL.unguard, [])
            try await database.run(SealSQL.loseTheEnd, [])
            #expect(try await Self.verify(database).findings.isEmpty)
            #expect(
                try await Self.verify(database, [checkpoint]).findings
                    == ["seal \(last.number), which was kept as a checkpoint, is missing: the chain ends before it"])
            try await database.run(SealSQL.record, [.int64(1)])
            #expect(try await sealer.run().lost?.number == last.number)
            try await Self.seal(database, by: sealer)
            let other = try await Self.verify(database, [checkpoint])
            #expect(other.findings.contains { $0.contains("is not the one that was kept as a checkpoint") })
        }
    }

    @Test("An event that commits late is sealed late, and once")
    func sealsLateEvents() async throws {
        try await Self.withSeals { database, sealer in
            let late = Statement("INSERT INTO native_sso.audit_event (occurred_at, kind) VALUES (now(), 'late')")
            _ = try await database.holding(untilItReturns: true) { transaction throws(PostgresError) in
                _ = try transaction.query(late)
            } _: {
                try await database.run(SealSQL.record, [.int64(2)])
                _ = try await sealer.run()
                // They lie behind the open transaction.
                #expect(try await Self.verify(database).unsealed == 2)
            }
            try await Self.seal(database, by: sealer)
            let found = try await Self.verify(database)
            #expect(found.findings.isEmpty && found.events == 9, "\(found.findings)")
        }
    }

    @Test("Of many sealers at once, one makes each seal")
    func sealsInTurn() async throws {
        try await TestDatabase.withFixture { database in
            let sealers = (0..<4).map { _ in Self.sealer(database) }
            for _ in 0..<10 {
                try await database.run(SealSQL.record, [.int64(1)])
                try await atOnce(sealers.count) { _ = try await sealers[$0].run() }
            }
            try await Self.seal(database, by: sealers[0])
            let found = try await Self.verify(database)
            #expect(found.findings.isEmpty && found.events == 10, "\(found.findings)")
            let patient = AuditSealer(
                database: database.service, authenticator: Self.keys, clock: Clock(), spacing: 3600)
            try await database.run(SealSQL.record, [.int64(1)])
            _ = try await patient.run()
            #expect(try await Self.verify(database).unsealed == 1)
        }
    }

    @Test("Months that retention removed stay accounted for")
    func remembersRemovals() async throws {
        try await TestDatabase.withFixture { database in
            try await database.run(RetentionSQL.addOldMonths, [])
            let sealer = Self.sealer(database)
            try await Self.seal(database, by: sealer)
            #expect(try await Self.verify(database).events == 3)
            let report = try #require(try await SweeperTests.sweeper(database.service).sweep(unlessWithin: 0))
            #expect(report.auditMonths == 2)
            try await Self.seal(database, by: sealer)
            let found = try await Self.verify(database)
            #expect(found.findings.isEmpty && found.events == 1, "\(found.findings)")
            #expect(found.removed.map(\.month) == ["2020-01", "2020-02"])
            #expect(found.removed.map(\.events) == [1, 1])
            try await database.run(SealSQL.addToARemovedMonth, [])
            #expect(
                try await Self.verify(database).findings
                    == ["1 events of 2020-01 are there, although retention removed that month"])
        }
    }

    @Test("A month with events that cannot be sealed yet stays")
    func removesNothingUnsealed() async throws {
        try await TestDatabase.withFixture { database in
            _ = try await database.holding(untilItReturns: true) { transaction throws(PostgresError) in
                _ = try transaction.query(SealSQL.begin)
            } _: {
                try await database.run(RetentionSQL.addOldMonths, [])
                let report = try await SweeperTests.sweeper(database.service).sweep(unlessWithin: 0)
                #expect(report?.auditMonths == 0)
            }
            try await Self.seal(database, by: Self.sealer(database))
            #expect(try await SweeperTests.sweeper(database.service).sweep(unlessWithin: 0)?.auditMonths == 2)
            #expect(try await Self.verify(database).findings.isEmpty)
        }
    }

    @Test("A seal changes only by its tag, and is not deleted")
    func staysAsItIs() async throws {
        try await Self.withSeals { database, _ in
            for statement in [SealSQL.changeASeal, SealSQL.loseTheEnd, SealSQL.changeATag] {
                await #expect(throws: PostgresError.self) { try await database.run(statement, []) }
            }
        }
    }
}

private enum SealSQL {
    /// $1 how many.
    static let record = Statement(
        """
        INSERT INTO native_sso.audit_event (occurred_at, kind, request_id, details)
        SELECT now(), 'test', gen_random_uuid(), '{"a": "ä", "b": null}' FROM generate_series(1, $1::bigint)
        """)
    static let begin = Statement("SELECT pg_current_xact_id()::text")
    static let unguard = Statement(
        """
        DO $$ BEGIN
            ALTER TABLE native_sso.audit_event DISABLE TRIGGER USER;
            ALTER TABLE native_sso.audit_seal DISABLE TRIGGER USER;
        END $$
        """)
    static let change = Statement(
        """
        UPDATE native_sso.audit_event SET actor = 'someone else'
        WHERE recorded_in >= (SELECT from_transaction FROM native_sso.audit_seal WHERE events = 3)
        """)
    static let delete = Statement(
        """
        DELETE FROM native_sso.audit_event WHERE request_id = (
            SELECT request_id FROM native_sso.audit_event
            WHERE recorded_in >= (SELECT from_transaction FROM native_sso.audit_seal WHERE events = 3) LIMIT 1)
        """)
    static let add = Statement(
        """
        INSERT INTO native_sso.audit_event (occurred_at, kind, recorded_in)
        SELECT now(), 'test', from_transaction FROM native_sso.audit_seal WHERE events = 3
        """)
    static let addInAnotherMonth = Statement(
        """
        INSERT INTO native_sso.audit_event (occurred_at, kind, recorded_in)
        SELECT now() + interval '35 days', 'test', from_transaction FROM native_sso.audit_seal WHERE events = 3
        """)
    static let addFromTheFuture = Statement(
        "INSERT INTO native_sso.audit_event (occurred_at, kind, recorded_in) VALUES (now(), 'test', 1000000000000)")
    static let addToARemovedMonth = Statement(
        "INSERT INTO native_sso.audit_event (occurred_at, kind, recorded_in) VALUES ('2020-01-15Z', 'test', 5)")
    static let removeASeal = Statement("DELETE FROM native_sso.audit_seal WHERE number = 2")
    static let changeASeal = Statement("UPDATE native_sso.audit_seal SET events = events + 1 WHERE number = 2")
    static let changeATag = Statement("UPDATE native_sso.audit_seal SET tag = '\\x00'")
    static let loseTheEnd = Statement(
        """
        WITH lost AS (
            DELETE FROM native_sso.audit_event
            WHERE recorded_in >= (SELECT from_transaction FROM native_sso.audit_seal WHERE events = 3))
        DELETE FROM native_sso.audit_seal
        WHERE number >= (SELECT number FROM native_sso.audit_seal WHERE events = 3)
        """)
    /// Removes the seals, changes an event, and makes the chain again.
    static let makeTheChainAnew = Statement(
        """
        DO $$ BEGIN
            CREATE TEMP TABLE old ON COMMIT DROP AS SELECT number, tag FROM native_sso.audit_seal;
            DELETE FROM native_sso.audit_seal;
            UPDATE native_sso.audit_event SET actor = 'someone else';
            PERFORM native_sso.seal_audit(0);
            UPDATE native_sso.audit_seal s SET tag = old.tag FROM old WHERE old.number = s.number;
        END $$
        """)
    /// As if it were old, and a broker went on with it.
    static let makeTheChainAnewWithoutTags = Statement(
        """
        DO $$ BEGIN
            DELETE FROM native_sso.audit_seal;
            UPDATE native_sso.audit_event SET actor = 'someone else';
            PERFORM native_sso.seal_audit(0);
            UPDATE native_sso.audit_seal SET sealed_at = now() - interval '2 hours';
            UPDATE native_sso.audit_seal SET chain = sha256(convert_to(concat_ws('|', number,
                (extract(epoch FROM sealed_at) * 1000000)::bigint, to_char(month, 'YYYY-MM'), from_transaction,
                until_transaction, events, encode(digest, 'hex'), is_removal), 'UTF8'));
        END $$
        """)
    static let claimRetention = Statement(
        """
        DO $$ BEGIN
            DELETE FROM native_sso.audit_event;
            PERFORM native_sso.append_audit_seal(
                date_trunc('month', now() AT TIME ZONE 'UTC')::date, max(until_transaction), max(until_transaction), 6, sha256(''),
                true)
            FROM native_sso.audit_seal;
        END $$
        """)
}
