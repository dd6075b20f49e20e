import BrokerTesting
import NativeSSO
import PostgresClient
import RegistryConformance
import Testing

@testable import Registry

/// Every end but that by time reaches the resource servers, in the transaction that ends the session.
@Suite(.timeLimit(.minutes(2))) struct EndedSessionTests {
    private static let issuer = Issuer(validated: "https://idp.example.com")
    private static let (one, api) = (ClientID(validated: "app-one"), ClientID(validated: "api"))
    private static let audience = "https://api.example.com"

    private static func poll(
        _ database: PostgresFixture, _ acknowledged: [UniqueID] = [], as client: ClientID = api, receiver: String = "",
        limit: Int64 = 100
    ) async throws -> [UniqueID] {
        try await PostgresEndedSessionRegistry(database: database.service).next(
            for: client, receiver: receiver, acknowledged: acknowledged, limit: limit, life: 300
        ).map(\.id)
    }

    /// A resource server for an audience.
    private static func register(_ client: ClientID, for audience: String, in database: PostgresFixture) async throws {
        try await database.put(client: client, isEnabled: true)
        _ = try await database.run(
            Statement("UPDATE native_sso.client SET introspects = ARRAY[$2] WHERE client_id = $1"),
            [.text(client.string), .text(audience)])
    }

    /// The sessions `sid-1`, of the world, to `sid-N`, each with a grant.
    private static func world(_ database: PostgresFixture, sessions: Int = 1) async throws -> (World, [UniqueID]) {
        let world = try await World.make(in: database)
        try await register(api, for: audience, in: database)
        _ = try await database.run(
            Statement("UPDATE native_sso.client SET audiences = ARRAY[$1] WHERE client_id = 'app-two'"),
            [.text(audience)])
        for number in 1..<UInt64(sessions) {
            _ = try await database.registry.admit(
                world.firstAdmission(sid: "sid-\(number + 1)", number: number + 1))
        }
        let rows = try await database.run(
            Statement("SELECT session_id FROM native_sso.session ORDER BY session_id"), [])
        return (world, try rows.map { try $0.uniqueID(0) })
    }

    private static func end(_ session: UniqueID, in database: PostgresFixture) async throws {
        _ = try await database.run(
            Statement("SELECT native_sso.end_sessions(ARRAY[$1::uuid], 'operator', 'me', '{}')"), [.uuid(session)])
    }

    @Test(arguments: ["logout", "app", "operator", "support"]) func everyEndIsHeard(reason: String) async throws {
        try await TestDatabase.withFixture { database in
            let (world, sessions) = try await Self.world(database)
            #expect(try await Self.poll(database) == [])
            switch reason {
            case "logout":
                _ = try await PostgresLogoutRegistry(database: database.service).end(
                    LogoutRecord.told(.session(SessionID(validated: "sid-1")), "one"))
            case "app":
                _ = try await PostgresRevocationRegistry(database: database.service).signOut(
                    [Self.issuer: world.device], of: world.client, holding: nil,
                    requestID: UniqueID(high: 3, low: 4))
            case "operator": try await Self.end(sessions[0], in: database)
            default:
                _ = try await database.run(
                    Statement("SELECT native_sso.support_end_sessions('ticket 7', $1, 'user')"),
                    [.text(Self.issuer.string)])
            }
            let ends = try await PostgresEndedSessionRegistry(database: database.service).next(
                for: Self.api, receiver: "", acknowledged: [], limit: 10, life: 300)
            #expect(ends.map(\.id) == sessions && ends.map(\.reason) == [reason])
        }
    }

    /// Access tokens of a session that ended by its age have expired with it.
    @Test func anEndByTimeIsNotAnnounced() async throws {
        try await TestDatabase.withFixture { database in
            let (world, _) = try await Self.world(database)
            _ = try await database.run(
                Statement(
                    "UPDATE native_sso.session SET last_used_at = now() - interval '399 days' RETURNING session_id"), []
            )
            _ = try await database.registry.admit(world.firstAdmission(sid: "sid-1", number: 77))
            let ended = try await database.run(
                Statement("SELECT end_reason FROM native_sso.session WHERE ended_at IS NOT NULL"), [])
            #expect(try ended.map { try $0.text(0) } == ["idle"])
            #expect(try await Self.poll(database) == [])
        }
    }

    /// A resource server learns of sessions whose tokens may be for it, and a session without tokens is nobody's.
    @Test func aResourceServerHearsOfItsOwnSessions() async throws {
        try await TestDatabase.withFixture { database in
            let (world, sessions) = try await Self.world(database)
            let (other, none) = (ClientID(validated: "other-api"), ClientID(validated: "no-api"))
            try await Self.register(other, for: "https://other.example.com", in: database)
            try await database.put(client: none, isEnabled: true)
            try await database.put(
                SessionRow(
                    id: UniqueID(high: 1, low: 99), issuer: Self.issuer, sid: SessionID(validated: "bare"),
                    subject: Subject(validated: "user"), sourceClient: Self.one, device: world.device,
                    expiresIn: .days(30)))
            for session in sessions + [UniqueID(high: 1, low: 99)] { try await Self.end(session, in: database) }
            #expect(try await Self.poll(database) == sessions)
            for client in [other, none, ClientID(validated: "unknown")] {
                #expect(try await Self.poll(database, as: client) == [])
            }
        }
    }

    /// Unacknowledged ends come again, in order; acknowledged ones do not, in whatever order they are.
    @Test func acknowledgements() async throws {
        try await TestDatabase.withFixture { database in
            let (_, sessions) = try await Self.world(database, sessions: 4)
            for session in sessions { try await Self.end(session, in: database) }
            let ends = try await Self.poll(database)
            #expect(Set(ends) == Set(sessions) && ends.count == 4)
            #expect(try await Self.poll(database, limit: 2) == Array(ends.prefix(2)))
            #expect(try await Self.poll(database, [ends[1], ends[2]]) == [ends[0], ends[3]])
            #expect(try await Self.poll(database, [UniqueID(high: 9, low: 9)]) == [ends[0], ends[3]])
            #expect(try await Self.poll(database, [ends[0]]) == [ends[3]])
            #expect(try await Self.poll(database, [ends[3]]) == [])
            // Another process of the same resource server has a position of its own.
            #expect(try await Self.poll(database, receiver: "second") == ends)
            let rows = try await database.run(
                Statement(
                    "SELECT position, cardinality(acknowledged)::bigint FROM native_sso.event_receiver WHERE receiver = ''"
                ),
                [])
            #expect(try rows.map { [try $0.int64(0), try $0.int64(1)] } == [[4, 0]])
        }
    }

    /// A long seal of the audit delays no end: each has its own lock.
    @Test func anEndWhileTheAuditIsSealed() async throws {
        try await TestDatabase.withFixture { database in
            let (_, sessions) = try await Self.world(database)
            try await Self.end(sessions[0], in: database)
            let delivered = try await database.holding(untilItReturns: true) { transaction throws(PostgresError) in
                let isLocked = try transaction.query(Statement("SELECT native_sso.try_seal()")).first?.bool(0)
                #expect(isLocked == true)
            } _: {
                try await Self.poll(database)
            }.value
            #expect(delivered == sessions)
        }
    }

    /// An end that commits after a later one was delivered is not passed over.
    @Test func anEndThatCommitsLate() async throws {
        try await TestDatabase.withFixture { database in
            let (_, sessions) = try await Self.world(database, sessions: 2)
            let end = Statement("SELECT native_sso.end_sessions(ARRAY[$1::uuid], 'operator', 'me', '{}')")
            let delivered = try await database.holding(untilItReturns: true) { transaction throws(PostgresError) in
                _ = try transaction.query(end, [.uuid(sessions[0])])
            } _: {
                try await Self.end(sessions[1], in: database)
                let delivered = try await Self.poll(database)
                #expect(try await Self.poll(database, delivered) == [])
                return delivered
            }.value
            #expect(delivered == [sessions[1]])
            #expect(try await Self.poll(database) == [sessions[0]])
        }
    }

    /// A receiver that is away for longer than access tokens live needs nothing older; the sweep bounds the rest.
    @Test func oldEndsGo() async throws {
        try await TestDatabase.withFixture { database in
            let (_, sessions) = try await Self.world(database, sessions: 3)
            for session in sessions { try await Self.end(session, in: database) }
            #expect(try await Self.poll(database).count == 3)
            for (session, age) in zip(sessions, ["26 hours", "8 minutes", "6 minutes"]) {
                _ = try await database.run(
                    Statement(
                        "UPDATE native_sso.ended_session SET recorded_at = now() - $2::text::interval WHERE session_id = $1"
                    ),
                    [.uuid(session), .text(age)])
            }
            #expect(try await Self.poll(database, receiver: "new") == [sessions[2]])
            _ = try await database.run(
                Statement(
                    "UPDATE native_sso.event_receiver SET polled_at = now() - interval '26 hours' WHERE receiver = ''"),
                [])
            #expect(try await Sweeper(database: database.superuser, pause: .zero).sweep(unlessWithin: 0)?.proofs == 1)
            let left = try await database.run(
                Statement(
                    "SELECT (SELECT count(*) FROM native_sso.ended_session), (SELECT count(*) FROM native_sso.event_receiver)"
                ),
                [])
            #expect(try left.map { [try $0.int64(0), try $0.int64(1)] } == [[2, 1]])
        }
    }

    @Test func receiversOfAClientAreBounded() async throws {
        try await TestDatabase.withFixture { database in
            _ = try await Self.world(database)
            for number in 0..<70 { _ = try await Self.poll(database, receiver: "r\(number)") }
            let rows = try await database.run(
                Statement("SELECT count(*), bool_or(receiver = 'r69')::text FROM native_sso.event_receiver"), [])
            #expect(try rows.map { [String(try $0.int64(0)), try $0.text(1)] } == [["64", "true"]])
        }
    }
}
