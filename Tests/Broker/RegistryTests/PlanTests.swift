import BrokerTesting
import NativeSSO
import PostgresClient
import Registry
import Testing

/// A connection keeps its plan: a plan for an empty table must also suit a large one.
@Suite("Rows that a hot call reads", .serialized)
struct PlanTests {
    @Test("A call reads few index entries, even with a plan made on empty tables")
    func readsAHandful() async throws {
        try await TestDatabase.withFixture { try await Self.readsAHandful($0) }
    }

    @Test("A statement for many calls reads few index entries")
    func readsAHandfulGathered() async throws {
        try await TestDatabase.withFixture(overLanes: true, gathersFrom: 1) { database in
            try await Self.readsAHandful(database)
            #expect(try #require(database.lanes).statistics.gatheredCallsTotal == 14 + 2 * Self.calls)
        }
    }

    @Test("A first sight reads few index entries among logged-out sessions")
    func firstSightReadsAHandful() async throws {
        try await TestDatabase.withWorld { database, world in
            func comeIn(_ numbers: Range<UInt64>) async throws {
                for number in numbers {
                    let admission = try world.firstAdmission(sid: "new-\(number)")
                    #expect(try await database.registry.admit(admission).grant != nil)
                }
            }
            try await comeIn(0..<15)
            _ = try await database.run(Self.addSessions, [])
            let before = try await Self.entriesRead(database)
            try await comeIn(15..<15 + UInt64(Self.calls))
            try await database.endService()
            let read = try await Self.entriesRead(database) - before
            #expect(read < 5 * Self.rows, "\(read) rows and index entries for \(Self.calls) logins")
        }
    }

    @Test("A logout by sid reads few index entries")
    func logoutReadsAHandful() async throws {
        try await TestDatabase.withWorld { database, _ in
            _ = try await database.run(Self.addSessions, [])
            let before = try await Self.entriesRead(database)
            for number in 1...Self.calls {
                let session = LogoutSubject.session(SessionID(validated: "other-\(number)"))
                #expect(try await database.logOut(session, "token-\(number)") == 1)
            }
            try await database.endService()
            let read = try await Self.entriesRead(database) - before
            #expect(read < 5 * Self.rows, "\(read) rows and index entries for \(Self.calls) logouts")
        }
    }

    @Test("A new grant in a live session runs no INSERT on the session table", arguments: [false, true])
    func newGrantInALiveSession(gathered: Bool) async throws {
        try await TestDatabase.withWorld(overLanes: gathered, gathersFrom: 1) { database, world in
            let act = AdministrativeAct(actor: "ada", reason: nil, requestID: UniqueID(high: 1, low: 2))
            #expect(try await database.administration.revoke([world.grantID], act) == [world.grantID])
            // A trigger for each statement also fires for an INSERT of no rows.
            for statement in Self.refuseInserts { try await database.run(statement, []) }
            let facts = try await database.registry.admit(world.admission())
            #expect(facts.grant?.generation == 1 && facts.grant?.id != world.grantID)
            await #expect(throws: PortError.self) {
                try await database.registry.admit(world.firstAdmission(sid: "new"))
            }
        }
    }

    private static let refuseInserts = [
        Statement(
            """
            CREATE FUNCTION native_sso.refuse_insert() RETURNS trigger LANGUAGE plpgsql
            AS $$ BEGIN RAISE EXCEPTION 'an INSERT on %', TG_TABLE_NAME; END $$
            """),
        Statement(
            """
            CREATE TRIGGER refuse_insert BEFORE INSERT ON native_sso.session
            FOR EACH STATEMENT EXECUTE FUNCTION native_sso.refuse_insert()
            """),
    ]

    private static func readsAHandful(_ database: PostgresFixture) async throws {
        let world = try await World.make(in: database)
        // The server makes and keeps each plan here.
        for generation in stride(from: Int32(1), to: 15, by: 2) {
            let advanced = try await database.registry.rotate(world.rotation(generation: generation))
            #expect(advanced.effect == .advanced)
            #expect(try await database.registry.admit(world.admission()).grant != nil)
        }
        _ = try await database.run(Self.addSessions, [])
        _ = try await database.run(Self.addDevices, [])
        _ = try await database.run(Self.addGrants, [])
        let before = try await Self.entriesRead(database)
        for generation in Int32(15)..<Int32(15 + Self.calls) {
            let advanced = try await database.registry.rotate(world.rotation(generation: generation))
            #expect(advanced.effect == .advanced)
        }
        for _ in 0..<Self.calls {
            #expect(try await database.registry.admit(world.admission()).grant != nil)
        }
        try await database.endService()
        let read = try await Self.entriesRead(database) - before
        // The count may include the inserts, which read each session once or twice for the foreign keys.
        #expect(read < 5 * Self.rows, "\(read) rows and index entries for \(2 * Self.calls) calls")
    }

    private static let calls = 20
    private static let rows: Int64 = 2000

    private static func entriesRead(_ database: PostgresFixture) async throws -> Int64 {
        try await database.run(read, [])[0].int64(0)
    }

    private static let read = Statement(
        """
        SELECT coalesce(sum(idx_tup_read), 0)::bigint + coalesce((
            SELECT sum(seq_tup_read) FROM pg_stat_user_tables
            WHERE relname IN ('session', 'sso_grant', 'device')), 0)::bigint
        FROM pg_stat_user_indexes WHERE relname IN ('session', 'sso_grant', 'device')
        """)
    private static let addSessions = Statement(
        """
        INSERT INTO native_sso.session (
            session_id, issuer, sid, idp_issuer, idp_sid, subject, created_at, expires_at, last_used_at)
        SELECT gen_random_uuid(), issuer, sha256(('other-' || n)::bytea), idp_issuer, sha256(('other-' || n)::bytea), subject, created_at, expires_at,
            last_used_at
        FROM native_sso.session, generate_series(1, 2000) AS n WHERE sid = sha256('sid-1')
        """)
    private static let addDevices = Statement(
        """
        INSERT INTO native_sso.device (issuer, device_digest, first_seen_at)
        SELECT issuer, sid, now() FROM native_sso.session WHERE sid <> sha256('sid-1')
        """)
    private static let addGrants = Statement(
        """
        INSERT INTO native_sso.sso_grant
        SELECT gen_random_uuid(), s.session_id, g.client_id, g.source_client_id, g.device_digest, 1, now(), g.scope,
            g.audiences, NULL, NULL, g.amr, NULL, now(), g.expires_at
        FROM native_sso.sso_grant g, native_sso.session s WHERE s.sid <> sha256('sid-1')
        """)
}
