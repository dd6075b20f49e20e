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

    /// L-15, L-16: a logout ends one session with everything issued from it. The device's other sessions live on.
    @Test func bySession() async throws {
        try await TestDatabase.withFixture { database in
            let world = try await World.make(in: database)
            _ = try await database.registry.admit(world.firstAdmission(sid: "sid-2"))
            let logouts = PostgresLogoutRegistry(database: database.service)
            #expect(try await logouts.end(LogoutRecord.told(Self.sid("sid-1"), "one")) == 1)
            #expect(try await database.registry.rotate(world.rotation(generation: 1)).grant?.session.endedAt != nil)
            #expect(try await database.registry.admit(world.admission(number: 1)).grant == nil)
            #expect(try await database.liveSIDs() == ["sid-2"])
            // Already logged out: another token succeeds, and ends nothing.
            #expect(try await logouts.end(LogoutRecord.told(Self.sid("sid-1"), "two")) == 0)
            #expect(
                try await Self.audit(database) == [
                    "session_ended logout", "logout_recorded session 1", "logout_recorded session 0",
                ])
        }
    }

    /// A refused exchange binds no key.
    @Test func aLoginThatIsOverPinsNoKey() async throws {
        try await TestDatabase.withFixture { database in
            var scenario = try ExchangeScenario()
            scenario.session = nil
            scenario.policy = IssuerPolicy(
                issuer: scenario.issuer, profiles: scenario.policy.profiles, admitsOnFirstSight: true,
                sessionLifetime: .days(7))
            scenario.client.proofPolicy = .required
            scenario.proof = .random()
            try await scenario.put(into: database)
            _ = try await PostgresLogoutRegistry(database: database.service).end(
                LogoutRecord.told(
                    .user(scenario.subject), "one", issuer: scenario.issuer,
                    issuedAt: UnixTime(seconds: scenario.now.seconds - 3600)))
            #expect(try await scenario.attempt(on: database.registry).refusal == .sessionEnded)
            #expect(try await database.run(Self.devicesWithKeys, []).isEmpty)
            // The next login of the same user, with another key.
            var next = scenario
            next.sessionID = SessionID(validated: "the next one")
            next.login.authenticatedAt = UnixTime(seconds: scenario.now.seconds - 60)
            next.proof = .random()
            #expect(try await next.attempt(on: database.registry).grant != nil)
            #expect(try await database.run(Self.devicesWithKeys, []).count == 1)
        }
    }

    private static let devicesWithKeys = Statement("SELECT FROM native_sso.device WHERE pinned_keys IS NOT NULL")

    /// L-14: every session of the user at this issuer, and no other user's.
    @Test func byUser() async throws {
        try await TestDatabase.withFixture { database in
            let world = try await World.make(in: database)
            for (number, sid) in [(2, "sid-2"), (3, "sid-3")] as [(UInt64, String)] {
                _ = try await database.registry.admit(world.firstAdmission(sid: sid, number: number))
            }
            try await Self.put(database, sid: "elsewhere", issuer: "https://other.example.com", subject: "user")
            try await Self.put(database, sid: "another", issuer: Self.issuer.string, subject: "another")
            let logouts = PostgresLogoutRegistry(database: database.service, batch: 2)
            #expect(try await logouts.end(LogoutRecord.told(Self.user, "one")) == 3)
            #expect(try await database.liveSIDs() == ["another", "elsewhere"])
        }
    }

    /// A thief with the service's password could record a login from the future. It must not outlast a logout.
    @Test func aLoginFromTheFutureEndsToo() async throws {
        try await TestDatabase.withFixture { database in
            let world = try await World.make(in: database)
            let future = Self.now.adding(.days(1000))
            _ = try await database.registry.admit(
                world.firstAdmission(sid: "sid-2", login: Login(authenticatedAt: future), tokenIssuedAt: future))
            #expect(try await database.liveSIDs() == ["sid-1", "sid-2"])
            let logouts = PostgresLogoutRegistry(database: database.service)
            let aMinuteLater = LogoutRecord.told(Self.user, "one", issuedAt: Self.now.adding(60))
            #expect(try await logouts.end(aMinuteLater) == 2)
            #expect(try await database.liveSIDs().isEmpty)
        }
    }

    /// A logout token works once. L-13: it ends only sessions of its own issuer.
    @Test func aTokenIsUsedOnce() async throws {
        try await TestDatabase.withFixture { database in
            _ = try await World.make(in: database)
            let logouts = PostgresLogoutRegistry(database: database.service)
            let other = Issuer(validated: "https://other.example.com")
            #expect(try await logouts.end(LogoutRecord.told(Self.sid("sid-1"), "one", issuer: other)) == 0)
            #expect(try await database.liveSIDs() == ["sid-1"])
            #expect(try await logouts.end(LogoutRecord.told(Self.sid("sid-1"), "one")) == 1)
            #expect(try await logouts.end(LogoutRecord.told(Self.sid("sid-1"), "one")) == nil)
            #expect(try await logouts.end(LogoutRecord.told(Self.user, "one")) == nil)
        }
    }

    @Test func ofManyThatBringOneTokenOneUsesIt() async throws {
        try await TestDatabase.withFixture { database in
            _ = try await World.make(in: database)
            let logouts = PostgresLogoutRegistry(database: database.service, atOnce: 8)
            let record = LogoutRecord.told(Self.sid("sid-1"), "one")
            let answers = try await atOnce(8) { try await logouts.end(record) }
            #expect(answers.count == 8 && answers.compactMap(\.self).reduce(0, +) == 1)
            #expect(try await database.liveSIDs().isEmpty)
        }
    }

    /// A logout before the first sight wins. It leaves one row, however often it is repeated.
    @Test func aSessionThatNoAppHasPresented() async throws {
        try await TestDatabase.withFixture { database in
            let world = try await World.make(in: database)
            let logouts = PostgresLogoutRegistry(database: database.service)
            for token in ["one", "two"] {
                #expect(try await logouts.end(LogoutRecord.told(Self.sid("late"), token)) == 0)
            }
            let facts = try await database.registry.admit(world.firstAdmission(sid: "late"))
            #expect(facts.grant == nil && facts.session?.endedAt != nil)
            #expect(try await database.counts().sessions == 2)
        }
    }

    /// The same for a session whose `sid` is not the IdP's, such as an enrolled one.
    @Test func aSessionUnderAnotherName() async throws {
        try await TestDatabase.withFixture { database in
            let logouts = PostgresLogoutRegistry(database: database.service)
            #expect(try await logouts.end(LogoutRecord.told(Self.sid("idp-sid"), "one")) == 0)
            try await Self.put(
                database, sid: "ours", issuer: "https://sso.example.com", subject: "user",
                idpSID: "idp-sid")
            #expect(try await database.liveSIDs().isEmpty)
            try await Self.put(
                database, sid: "ours-2", issuer: "https://sso.example.com", subject: "user",
                idpSID: "idp-2")
            #expect(try await database.liveSIDs() == ["ours-2"])
            #expect(try await logouts.end(LogoutRecord.told(Self.sid("idp-2"), "two")) == 1)
            #expect(try await database.liveSIDs().isEmpty)
        }
    }

    /// A session that began before the user logged out everywhere stays ended, whenever it arrives; a later one lives.
    @Test(arguments: [(-3600, false), (0, false), (1, true), (nil, true)] as [(Int64?, Bool)])
    func aLoginOfAUserWhoLoggedOut(_ authenticated: Int64?, _ lives: Bool) async throws {
        try await TestDatabase.withFixture { database in
            let world = try await World.make(in: database)
            let now = Self.now
            let logouts = PostgresLogoutRegistry(database: database.service)
            #expect(try await logouts.end(LogoutRecord.told(Self.user, "one", issuedAt: now)) == 1)
            let login = Login(authenticatedAt: authenticated.map { now.adding(Seconds($0)) })
            let facts = try await database.registry.admit(
                world.firstAdmission(sid: "late", login: login, tokenIssuedAt: now.adding(1)))
            #expect((facts.grant != nil) == lives)
            #expect((facts.session?.endedAt == nil) == lives)
            #expect(try await database.liveSIDs() == (lives ? ["late"] : []))
        }
    }

    /// An older logout that arrives late does not replace the newer one's mark.
    @Test func logoutsOutOfOrder() async throws {
        try await TestDatabase.withFixture { database in
            let world = try await World.make(in: database)
            let now = Self.now
            let logouts = PostgresLogoutRegistry(database: database.service)
            _ = try await logouts.end(LogoutRecord.told(Self.user, "newer", issuedAt: now))
            _ = try await logouts.end(LogoutRecord.told(Self.user, "older", issuedAt: now.adding(-60)))
            let login = Login(authenticatedAt: now.adding(-30))
            #expect(try await database.registry.admit(world.firstAdmission(sid: "late", login: login)).grant == nil)
        }
    }

    /// L-18: while another transaction locks one of the user's sessions, the logout ends all others. It ends that one
    /// when the lock is free.
    @Test func endsASessionAfterItsLockIsFree() async throws {
        try await TestDatabase.withFixture { database in
            _ = try await World.make(in: database)
            try await database.run(Self.many, [.int64(1000)])
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
            #expect(live == 1)
            #expect(try await ended == 1001)
            #expect(try await database.liveSIDs().isEmpty)
        }
    }

    /// A first sight during its user's logout: the logout waits for it, and ends the new session.
    @Test func aFirstSightOnItsWay() async throws {
        try await TestDatabase.withFixture { database in
            _ = try await World.make(in: database)
            let logouts = PostgresLogoutRegistry(database: database.service)
            let record = LogoutRecord.told(Self.user, "one")
            let (start, isUnderWay) = AsyncStream.makeStream(of: Void.self)
            async let ended = {
                for await _ in start { break }
                return try await logouts.end(record)
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
            let logouts = PostgresLogoutRegistry(database: database.service)
            _ = try await logouts.end(LogoutRecord.told(Self.user, "one"))
            let sweeper = Sweeper(database: database.service, pause: .zero)
            #expect(try await sweeper.sweep(unlessWithin: 0)?.logouts == 0)
            try await database.run(Self.age, [])
            #expect(try await Sweeper(database: database.superuser).prospect().logouts == 1)
            #expect(try await sweeper.sweep(unlessWithin: 0)?.logouts == 1)
        }
    }

    private static func audit(_ database: PostgresFixture) async throws -> [String] {
        try await database.run(auditRows, []).map { try $0.text(0) }
    }

    private static func put(
        _ database: PostgresFixture, sid: String, issuer: String, subject: String, idpSID: String? = nil
    ) async throws {
        try await database.run(
            putSession,
            [
                .text(issuer), .text(sid), .text(idpSID == nil ? issuer : Self.issuer.string), .text(idpSID ?? sid),
                .text(subject),
            ])
    }

    private static let auditRows = Statement(
        """
        SELECT kind || ' ' || reason || coalesce(' ' || (details ->> 'sessions_ended'), '') FROM native_sso.audit_event
        WHERE kind IN ('session_ended', 'logout_recorded') ORDER BY occurred_at
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
        "SELECT session_id::text FROM native_sso.session ORDER BY session_id OFFSET 500 LIMIT 1")
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
