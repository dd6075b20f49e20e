import BrokerTesting
import PostgresClient
import Registry
import RegistryConformance
import Testing

@testable import NativeSSO

/// One row ends all sessions at once: those that the database knows, and those that it does not.
@Suite("The general end", .serialized, .timeLimit(.minutes(2)))
struct GeneralEndTests {
    private let act = AdministrativeAct(actor: "test", reason: "test", requestID: UniqueID(high: 7, low: 7))

    private func end(_ database: PostgresFixture, sameLoginMayReturn: Bool = true) async throws {
        try await database.administration.endEverything(sameLoginMayReturn: sameLoginMayReturn, act)
        _ = try await database.superuser.query(GeneralEndSQL.nextSecond, [])
    }

    @Test("A known session: its grant is dead, an earlier id_token too, and a later one begins another session")
    func known() async throws {
        try await TestDatabase.withFixture { database in
            var refresh = try RefreshScenario()
            refresh.exchange.policy = IssuerPolicy(
                issuer: refresh.exchange.issuer, profiles: refresh.exchange.policy.profiles, admitsOnFirstSight: true,
                sessionLifetime: .days(7))
            try await refresh.put(into: database)
            let (session, client) = (try #require(refresh.exchange.session).id, refresh.client.id)
            let introspection = PostgresRevocationRegistry(database: database.service)
            func isLive() async throws -> Bool {
                try await introspection.isLive(
                    session, of: client, issuedAt: ExchangeScenario.farFuture, idle: .days(30))
            }
            #expect(try await isLive())
            try await end(database)

            let refused = try await refresh.attempt(on: database.registry)
            #expect(refused.refusal == .sessionEnded && refused.facts.effect == .none)
            #expect(try await !isLive())
            #expect(try await database.administration.sessions(.all, liveOnly: true, limit: 10).isEmpty)
            #expect(try await database.administration.impact(ofEnding: .all).sessions == 0)
            let ended = try await database.administration.sessions(.all, liveOnly: false, limit: 10)
            #expect(ended.map(\.endReason) == ["general_end"] && ended[0].endedAt != nil && ended[0].liveGrants == 0)

            var exchange = refresh.exchange
            let early = try await exchange.attempt(on: database.registry)
            #expect(early.refusal == .sessionEnded && early.grant == nil)
            exchange.issuedAt = ExchangeScenario.farFuture
            let late = try await exchange.attempt(on: database.registry)
            #expect(late.grant != nil && late.facts.session?.id != session)
            // The dead grant does not sign the new session out.
            let signedOut = try await introspection.signOut(
                [exchange.issuer: try exchange.digest()], of: client, holding: refresh.grantID,
                requestID: UniqueID(high: 8, low: 8))
            #expect(signedOut == 0)
            #expect(try await database.administration.sessions(.all, liveOnly: true, limit: 10).count == 1)
            // Now the row itself says it.
            let row = try await database.superuser.query(GeneralEndSQL.row, [.uuid(session.octets)])[0]
            #expect(try row.text(0) == "general_end")
            #expect(try row.bool(1))
            #expect(try await refresh.attempt(on: database.registry).refusal == .sessionEnded)
        }
    }

    @Test("A name that the database does not know: the second of the end is before it, and the next one after it")
    func theSecond() async throws {
        try await TestDatabase.withFixture { database in
            var scenario = try await ExchangeScenario.firstSight().placed(in: database)
            try await end(database)
            let instant = UnixTime(
                seconds: try await database.superuser.query(GeneralEndSQL.instant, [])[0].int64(0))
            scenario.issuedAt = instant
            // It counts against an expired id_token as against any other.
            scenario.expiresAt = scenario.now
            let early = try await scenario.attempt(on: database.registry)
            #expect(early.refusal == .sessionEnded && early.facts.session == nil)
            #expect(try await database.counts().sessions == 0)
            scenario.issuedAt = instant.adding(1)
            #expect(try await scenario.attempt(on: database.registry).grant != nil)
        }
    }

    @Test("Without the same login, auth_time must be later; a login that has none counts by its iat")
    func laterLogin() async throws {
        try await TestDatabase.withFixture { database in
            var scenario = try await ExchangeScenario.firstSight().placed(in: database)
            try await end(database, sameLoginMayReturn: false)
            scenario.issuedAt = ExchangeScenario.farFuture
            #expect(try await scenario.attempt(on: database.registry).refusal == .sessionEnded)
            scenario.login = Login(authenticatedAt: ExchangeScenario.farFuture)
            #expect(try await scenario.attempt(on: database.registry).grant != nil)
            // A later end with which the same login may return takes nothing back.
            var other = try await ExchangeScenario.firstSight().placed(in: database)
            try await end(database)
            other.issuedAt = ExchangeScenario.farFuture
            #expect(try await other.attempt(on: database.registry).refusal == .sessionEnded)
            other.login = Login()
            #expect(try await other.attempt(on: database.registry).grant != nil)
        }
    }

    /// The exchange looks before the end commits, and writes after it.
    @Test("An exchange that did not see the end gets a grant that is dead", arguments: [false, true])
    func race(gathered: Bool) async throws {
        try await TestDatabase.withFixture(overLanes: gathered, gathersFrom: 1) { database in
            var scenario = try await ExchangeScenario.firstSight().placed(in: database)
            let attempt = try await database.holding(untilItReturns: true) { transaction throws(PostgresError) in
                _ = try transaction.query(GeneralEndSQL.end)
            } _: { [scenario] in
                try await scenario.attempt(on: database.registry)
            }.value
            let grant = try #require(attempt.grant)
            let refresh = RefreshScenario(after: scenario, grantID: grant.id, generation: grant.generation)
            #expect(try await refresh.attempt(on: database.registry).refusal == .sessionEnded)
            _ = try await database.superuser.query(GeneralEndSQL.nextSecond, [])
            scenario.issuedAt = ExchangeScenario.farFuture
            #expect(try await scenario.attempt(on: database.registry).grant != nil)
            // Nothing begins in the second of an end.
            _ = try await database.superuser.query(GeneralEndSQL.endLater, [])
            #expect(try await scenario.attempt(on: database.registry).refusal == .sessionEnded)
        }
    }

    @Test("A registration of an earlier login is over, and one of a later login begins another session")
    func registration() async throws {
        try await TestDatabase.withFixture { database in
            func register(_ authTime: UnixTime) async throws -> SessionRegistration.Outcome {
                try await database.administration.register(
                    SessionRegistration(
                        issuer: Issuer(validated: "https://idp.example.com"), sessionID: SessionID(validated: "sid-1"),
                        subject: Subject(validated: "user"), sourceClient: nil, login: Login(authenticatedAt: authTime),
                        lifetime: .days(7), providerIssuer: nil, providerSessionID: nil), act
                ).outcome
            }
            #expect(try await register(UnixTime(seconds: 1_000_000_000)) == .registered)
            try await end(database, sameLoginMayReturn: false)
            #expect(try await register(UnixTime(seconds: 1_000_000_000)) == .ended)
            #expect(try await register(ExchangeScenario.farFuture) == .registered)
            #expect(try await register(ExchangeScenario.farFuture) == .known)
        }
    }

    @Test("A kept answer to a code, and a code of a hand-off, are dead")
    func codes() async throws {
        try await TestDatabase.withFixture { database in
            let register = PostgresCodeRegister(database: database.service, claims: 4, settlements: 4)
            let (name, binding) = (
                CodeName(octets: Array(repeating: 1, count: 32)), CodeBinding(octets: Array(repeating: 2, count: 32))
            )
            func claim(_ number: UInt64) async throws -> CodeClaim {
                try await register.claim(
                    CodeEntry(requestID: UniqueID(high: 1, low: number), code: name, binding: binding, proof: nil))
            }
            #expect(try await claim(1) == .granted)
            #expect(try await register.send(name, of: UniqueID(high: 1, low: 1), patience: 15))
            #expect(try await register.settle(name, of: UniqueID(high: 1, low: 1), as: .kept([1])))
            #expect(try await claim(2) == .kept([1]))
            let handoff = try await HandoffScenario().placed(in: database)
            #expect(try await handoff.make(on: database.handoffs).refusal == nil)
            // The id_token of the hand-off is of a provider whose clock is ahead.
            _ = try await database.superuser.query(GeneralEndSQL.ahead, [])
            try await end(database)
            #expect(try await claim(3) == .used)
            #expect(try await handoff.redeem(on: database.handoffs).refusal == .handoff(.withdrawn))
        }
    }
}

private enum GeneralEndSQL {
    static let row = Statement(
        """
        SELECT end_reason, ended_at = (SELECT began_until FROM native_sso.general_end)
        FROM native_sso.session WHERE session_id = $1
        """)
    static let endLater = Statement("UPDATE native_sso.general_end SET began_until = now() + interval '1 minute'")
    static let instant = Statement("SELECT extract(epoch FROM began_until)::bigint FROM native_sso.general_end")
    static let end = Statement(
        "UPDATE native_sso.general_end SET began_until = date_trunc('second', clock_timestamp())")
    /// Returns in the second after the end.
    static let nextSecond = Statement(
        "SELECT pg_sleep(extract(epoch FROM (began_until + interval '1 second') - clock_timestamp())) FROM native_sso.general_end"
    )
    static let ahead = Statement("UPDATE native_sso.web_handoff SET issued_at = now() + interval '1 hour'")
}
