import BrokerTesting
import RegistryConformance
import Glibc
import NativeSSO
import PostgresClient
import Testing

@testable import Registry

/// Back-channel logout on a real database.
@Suite(.timeLimit(.minutes(2))) struct LogoutRegistryTests {
    private static let issuer = Issuer(validated: "https://idp.example.com")

    /// The database runs on this machine.
    private static var now: UnixTime { UnixTime(seconds: Int64(time(nil))) }

    private static func sid(_ text: String) -> LogoutSubject { .session(SessionID(validated: text)) }
    private static let user = LogoutSubject.user(Subject(validated: "user"))

    /// A thief with the service's password could record a login from the future. It must not outlast a logout.
    @Test func aLoginFromTheFutureEndsToo() async throws {
        try await TestDatabase.withWorld { database, world in
            let future = Self.now.adding(.days(1000))
            _ = try await database.registry.admit(
                world.firstAdmission(sid: "sid-2", login: Login(authenticatedAt: future), tokenIssuedAt: future))
            #expect(try await database.liveSIDs() == ["sid-1", "sid-2"])
            let aMinuteLater = LogoutRecord.told(Self.user, "one", issuedAt: Self.now.adding(60))
            #expect(try await database.logouts.end(aMinuteLater) == 2)
            #expect(try await database.liveSIDs().isEmpty)
        }
    }

    @Test func ofManyThatBringOneTokenOneUsesIt() async throws {
        try await TestDatabase.withWorld { database, _ in
            let logouts = PostgresLogoutRegistry(database: database.service, atOnce: 8)
            let record = LogoutRecord.told(Self.sid("sid-1"), "one")
            let answers = try await atOnce(8) { try await logouts.end(record) }
            #expect(answers.count == 8 && answers.compactMap(\.self).reduce(0, +) == 1)
            #expect(try await database.liveSIDs().isEmpty)
        }
    }

    /// An older logout that arrives late does not replace the newer one's mark.
    @Test func logoutsOutOfOrder() async throws {
        try await TestDatabase.withWorld { database, world in
            let now = Self.now
            _ = try await database.logOut(Self.user, "newer", issuedAt: now)
            _ = try await database.logOut(Self.user, "older", issuedAt: now.adding(-60))
            let login = Login(authenticatedAt: now.adding(-30))
            #expect(try await database.registry.admit(world.firstAdmission(sid: "late", login: login)).grant == nil)
        }
    }

    /// L-18: while another transaction locks one of the user's sessions, the logout ends all others. It ends that one
    /// when the lock is free. The user of that name at another issuer, and other users, stay.
    @Test func endsASessionAfterItsLockIsFree() async throws {
        try await TestDatabase.withWorld { database, _ in
            try await database.run(Self.many, [.int64(1000)])
            try await Self.put(database, sid: "elsewhere", issuer: "https://other.example.com", subject: "user")
            try await Self.put(database, sid: "another", issuer: Self.issuer.string, subject: "another")
            let logouts = PostgresLogoutRegistry(database: database.service, batch: 100)
            let held = try await database.run(Self.middle, [])[0].text(0)
            let record = LogoutRecord.told(Self.user, "one")
            let (start, isUnderWay) = AsyncStream.makeStream(of: Void.self)
            async let ended = {
                for await _ in start { break }
                return try await logouts.end(record)
            }()
            let live = try await database.superuser.withTransaction(deadline: .seconds(30)) {
                transaction throws(PostgresError) in
                _ = try transaction.query(Self.hold, [.text(held)])
                isUnderWay.yield()
                while try transaction.query(Self.waiting).isEmpty {}
                return try transaction.query(PostgresFixture.selectLiveSIDs).count
            }
            #expect(live == 3)
            #expect(try await ended == 1001)
            #expect(try await database.liveSIDs() == ["another", "elsewhere"])
            #expect(try await database.run(Self.recorded, []).map { try $0.text(0) } == ["subject 1001"])
        }
    }

    /// A first sight during its user's logout: the logout waits for it, and ends the new session.
    @Test func aFirstSightOnItsWay() async throws {
        try await TestDatabase.withWorld { database, _ in
            let record = LogoutRecord.told(Self.user, "one")
            let (start, isUnderWay) = AsyncStream.makeStream(of: Void.self)
            async let ended = {
                for await _ in start { break }
                return try await database.logouts.end(record)
            }()
            try await database.superuser.withTransaction(deadline: .seconds(30)) { transaction throws(PostgresError) in
                _ = try transaction.query(
                    Self.putSession,
                    [
                        .text(Self.issuer.string), .text("late"), .text(Self.issuer.string), .text("late"),
                        .text("user"),
                    ])
                isUnderWay.yield()
                while try transaction.query(Self.waitingForLock).isEmpty {}
            }
            #expect(try await ended == 2)
            #expect(try await database.liveSIDs().isEmpty)
        }
    }

    /// A mark stays as long as an id_token of its time could arrive, and no longer.
    @Test func marksAreSwept() async throws {
        try await TestDatabase.withFixture { database in
            _ = try await database.logOut(Self.user, "one")
            let sweeper = Sweeper(database: database.service, pause: .zero)
            #expect(try await sweeper.sweep(unlessWithin: 0)?.logouts == 0)
            try await database.run(Self.age, [])
            #expect(try await Sweeper(database: database.superuser).prospect().logouts == 1)
            #expect(try await sweeper.sweep(unlessWithin: 0)?.logouts == 1)
        }
    }

    private static func put(
        _ database: PostgresFixture, sid: String, issuer: String, subject: String
    ) async throws {
        try await database.run(putSession, [.text(issuer), .text(sid), .text(issuer), .text(sid), .text(subject)])
    }

    private static let recorded = Statement(
        """
        SELECT reason || ' ' || (details ->> 'sessions_ended') FROM native_sso.audit_event
        WHERE kind = 'logout_recorded'
        """)
    private static let putSession = Statement(
        """
        INSERT INTO native_sso.session (
            session_id, issuer, sid, idp_issuer, idp_sid, subject, created_at, expires_at, last_used_at)
        VALUES (gen_random_uuid(), $1, sha256($2::text::bytea), $3, sha256($4::text::bytea), $5, date_trunc('second', now()), now() + interval '1 day', now())
        """)
    private static let many = Statement(
        """
        INSERT INTO native_sso.session (
            session_id, issuer, sid, idp_issuer, idp_sid, subject, created_at, expires_at, last_used_at)
        SELECT gen_random_uuid(), 'https://idp.example.com', sha256(('many-' || i)::bytea), 'https://idp.example.com',
            sha256(('many-' || i)::bytea), 'user', date_trunc('second', now()), now() + interval '1 day', now()
        FROM generate_series(1, $1::bigint) i
        """)
    private static let middle = Statement(
        """
        SELECT session_id::text FROM native_sso.session WHERE issuer = 'https://idp.example.com' AND subject = 'user'
        ORDER BY session_id OFFSET 500 LIMIT 1
        """)
    private static let hold = Statement(
        "SELECT 1 FROM native_sso.session WHERE session_id = $1::text::uuid FOR SHARE")
    /// The transactions that wait for this one.
    private static let waiting = Statement(
        """
        SELECT FROM pg_locks
        WHERE locktype = 'transactionid' AND transactionid = pg_current_xact_id()::xid AND NOT granted
        """)
    private static let waitingForLock = Statement(
        """
        SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
            AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
        """)
    private static let age = Statement(
        "UPDATE native_sso.subject_logout SET recorded_at = recorded_at - interval '92 days'")
}
