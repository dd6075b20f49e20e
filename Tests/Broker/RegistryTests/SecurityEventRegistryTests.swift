import BrokerTesting
import Glibc
import NativeSSO
import PostgresClient
import RegistryConformance
import Testing

@testable import Registry

/// Global token revocation and security events on a real database.
@Suite(.timeLimit(.minutes(2))) struct SecurityEventRegistryTests {
    private static let issuer = Issuer(validated: "https://idp.example.com")
    private static let user = LogoutSubject.user(Subject(validated: "user"))
    private static var now: UnixTime { UnixTime(seconds: Int64(time(nil))) }

    private struct World {
        let database: PostgresFixture
        let logouts: PostgresLogoutRegistry
        var scenario: ExchangeScenario

        init(_ database: PostgresFixture) throws {
            self.database = database
            logouts = PostgresLogoutRegistry(database: database.service)
            scenario = try ExchangeScenario()
            scenario.policy = IssuerPolicy(
                issuer: scenario.issuer, profiles: scenario.policy.profiles, admitsOnFirstSight: true)
        }

        func tell(_ cause: LogoutCause, _ token: String, at instant: UnixTime) async throws -> Int64? {
            try await logouts.end(
                .told(.user(scenario.subject), token, issuer: scenario.issuer, issuedAt: instant, cause: cause))
        }

        /// An exchange of a new login that began at `instant`.
        func login(_ sid: String, at instant: UnixTime) async throws -> ExchangeRefusal? {
            var next = scenario
            next.sessionID = SessionID(validated: sid)
            next.login.authenticatedAt = instant
            next.issuedAt = instant
            return try await next.attempt(on: database.registry).refusal
        }
    }

    private static func withWorld(_ body: @Sendable (World) async throws -> Void) async throws {
        try await TestDatabase.withFixture { database in
            let world = try World(database)
            try await world.scenario.put(into: database)
            try await body(world)
        }
    }

    @Test("The later of two events counts, in any order; of two in one second the last to come")
    func order() async throws {
        try await Self.withWorld { world async throws in
            let now = world.scenario.now
            func isDisabled(_ sid: String) async throws -> Bool {
                try await world.login(sid, at: now) == .accountDisabled
            }
            _ = try await world.tell(.accountEnabled, "1", at: now.adding(-50))
            _ = try await world.tell(.accountDisabled, "2", at: now.adding(-60))
            #expect(try await !isDisabled("a"))
            _ = try await world.tell(.accountDisabled, "3", at: now.adding(-50))
            #expect(try await isDisabled("b"))
            _ = try await world.tell(.accountEnabled, "4", at: now.adding(-51))
            #expect(try await isDisabled("c"))
            _ = try await world.tell(.accountEnabled, "5", at: now.adding(-50))
            #expect(try await !isDisabled("d"))
            // A logout changes neither.
            _ = try await world.tell(.accountDisabled, "6", at: now.adding(-40))
            _ = try await world.tell(.sessionRevoked, "7", at: now.adding(-30))
            _ = try await world.tell(.logoutToken, "8", at: now.adding(-30))
            #expect(try await isDisabled("e"))
            // A repeated event changes nothing.
            _ = try await world.tell(.accountEnabled, "9", at: now.adding(-20))
            #expect(try await world.tell(.accountDisabled, "6", at: now.adding(-40)) == nil)
            #expect(try await !isDisabled("f"))
        }
    }

    @Test(
        "A revocation is as a logout of the user: later logins live, compared exactly",
        arguments: [LogoutCause.logoutToken, .globalTokenRevocation, .sessionRevoked])
    func revoked(_ cause: LogoutCause) async throws {
        try await Self.withWorld { world async throws in
            let now = world.scenario.now
            #expect(try await world.login("at", at: now.adding(-100)) == nil)
            #expect(try await world.login("after", at: now.adding(-99)) == nil)
            #expect(try await world.tell(cause, "one", at: now.adding(-100)) == 2)
            #expect(try await world.tell(cause, "one", at: now.adding(-100)) == nil)
            #expect(try await world.login("new", at: now.adding(-100)) == .sessionEnded)
            #expect(try await world.login("newer", at: now.adding(-99)) == nil)
            #expect(try await world.login("after", at: now.adding(-99)) == nil)
            // The same `sid` comes back with a later login alone.
            #expect(try await world.login("at", at: now.adding(-100)) == .sessionEnded)
            #expect(try await world.login("at", at: now.adding(-98)) == nil)
        }
    }

    @Test("An operator enables a disabled account; an event from before that arrives later is a logout only")
    func enabledByOperator() async throws {
        try await Self.withWorld { world async throws in
            // The command takes the time of the database.
            let now = Self.now
            let (issuer, subject) = (world.scenario.issuer, world.scenario.subject)
            let administration = Administration(pool: world.database.superuser)
            let act = AdministrativeAct(actor: "alice", reason: "she is back", requestID: UniqueID(high: 1, low: 2))
            // By a clock that is ahead.
            _ = try await world.tell(.accountDisabled, "one", at: now.adding(30))
            #expect(try await world.login("a", at: now.adding(40)) == .accountDisabled)
            let account = DisabledAccount(issuer: issuer, subject: subject, disabledAt: now.adding(30))
            #expect(try await administration.disabledAccounts(of: issuer, subject, limit: 10) == [account])
            try await administration.enable(account, act)
            #expect(try await administration.disabledAccounts(limit: 10).isEmpty)
            _ = try await world.tell(.accountDisabled, "two", at: now.adding(-10))
            #expect(try await world.login("b", at: now.adding(40)) == nil)
            _ = try await world.tell(.accountDisabled, "three", at: now.adding(50))
            let later = try await world.login("c", at: now.adding(59))
            #expect(later == .accountDisabled)
            let audit = try await world.database.run(
                Statement(
                    """
                    SELECT actor || ' ' || reason || ' ' || (details->>'issuer') || ' ' || (details->>'sub_sha256')
                    FROM native_sso.audit_event WHERE kind = 'account_enabled'
                    """), []
            ).map { try $0.optionalText(0) ?? "" }
            #expect(audit.count == 1 && audit[0].hasPrefix("alice she is back \(issuer) "))
            #expect(!audit.joined().hasSuffix(subject.string))
        }
    }

    @Test("A token of one kind is not taken for one of another")
    func kinds() async throws {
        try await Self.withWorld { world async throws in
            for cause in LogoutCause.allCases {
                #expect(try await world.tell(cause, "same", at: world.scenario.now.adding(-1000)) != nil)
            }
            let audit = try await world.database.run(
                Statement("SELECT details->>'cause' FROM native_sso.audit_event WHERE kind = 'logout_recorded'"), [])
            let others = LogoutCause.allCases.filter { $0 != .logoutToken }.map(\.rawValue)
            #expect(try Set(audit.compactMap { try $0.optionalText(0) }) == Set(others))
        }
    }

    @Test("The sweep keeps the mark of a disabled account")
    func sweep() async throws {
        try await Self.withWorld { world async throws in
            let now = world.scenario.now
            _ = try await world.tell(.accountDisabled, "one", at: now)
            try await world.database.run(
                Statement("UPDATE native_sso.subject_logout SET recorded_at = recorded_at - interval '400 days'"), [])
            #expect(try await world.database.run(Statement("SELECT FROM native_sso.dead_logout"), []).isEmpty)
            _ = try await world.tell(.accountEnabled, "two", at: now)
            try await world.database.run(
                Statement("UPDATE native_sso.subject_logout SET recorded_at = recorded_at - interval '400 days'"), [])
            #expect(try await world.database.run(Statement("SELECT FROM native_sso.dead_logout"), []).count == 1)
        }
    }
}
