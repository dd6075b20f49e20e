import BrokerTesting
import Glibc
import NativeSSO
import PostgresClient
import RegistryConformance
import Testing

@testable import Registry

/// Ends by apps on a real database, as the service's role.
@Suite(.timeLimit(.minutes(2))) struct RevocationRegistryTests {
    private static let issuer = Issuer(validated: "https://idp.example.com")
    private static let request = UniqueID(high: 3, low: 4)
    private static let (one, two) = (ClientID(validated: "app-one"), ClientID(validated: "app-two"))

    /// The database runs on this machine.
    private static var now: UnixTime { UnixTime(seconds: Int64(time(nil))) }

    private static func digest(_ octet: UInt8) throws -> DeviceDigest {
        try #require(DeviceDigest(octets: Array(repeating: octet, count: 32)))
    }

    private static func signOut(
        _ database: PostgresFixture, _ device: DeviceDigest, of client: ClientID = two, holding grant: UniqueID? = nil
    ) async throws -> Int64 {
        // Another issuer of the same device value is asked for, too.
        try await PostgresRevocationRegistry(database: database.service).signOut(
            [issuer: device, Issuer(validated: "https://other.example.com"): try digest(99)], of: client,
            holding: grant, requestID: request)
    }

    @Test func aGrantEndsOnceAndStaysEnded() async throws {
        try await TestDatabase.withWorld { database, world in
            let registry = PostgresRevocationRegistry(database: database.service)
            #expect(try await registry.end(world.grantID, of: Self.one, requestID: Self.request) == .foreign)
            #expect(try await database.registry.rotate(world.rotation(generation: 1)).effect == .advanced)
            for expected in [GrantEnd.ended, .none] {
                #expect(try await registry.end(world.grantID, of: Self.two, requestID: Self.request) == expected)
            }
            #expect(try await registry.end(UniqueID(high: 9, low: 9), of: Self.two, requestID: Self.request) == .none)
            for generation in [1, 2] as [Int32] {
                let facts = try await database.registry.rotate(world.rotation(generation: generation))
                #expect(facts.effect == .none && facts.grant?.revokedAt != nil)
            }
            #expect(try await Self.audit(database) == ["grant_revoked app app-two"])
            // The login lives on: the app may exchange again.
            #expect(try await database.registry.admit(world.admission()).grant != nil)
        }
    }

    /// A refresh meets the end of its grant: it waits, and is refused.
    @Test(arguments: [false, true]) func aRefreshDuringARevocation(gathered: Bool) async throws {
        try await TestDatabase.withWorld(overLanes: gathered, gathersFrom: 1) { database, world in
            let facts = try await database.holding { transaction throws(PostgresError) in
                _ = try transaction.query(
                    RevocationStatements.end,
                    [.uuid(Self.request), .text(Self.two.string), .uuid(world.grantID)])
            } _: {
                try await database.registry.rotate(world.rotation(generation: 1))
            }.value
            #expect(facts.effect == .none && facts.grant?.revokedAt != nil)
        }
    }

    /// The sessions of the device in the client's group, each with all its grants.
    @Test func aDeviceSignsOut() async throws {
        try await TestDatabase.withWorld { database, world in
            for sid in ["sid-2", "sid-3"] {
                _ = try await database.registry.admit(world.firstAdmission(sid: sid))
            }
            try await Self.put(database, "elsewhere", device: try Self.digest(8))
            // A login of an app in another group on the same device.
            let stranger = ClientID(validated: "stranger")
            try await database.put(client: stranger, isEnabled: true)
            try await database.put(
                MemberRow(
                    issuer: Self.issuer, client: stranger,
                    membership: Membership(group: GroupID(validated: "another"), role: .both)))
            try await Self.put(database, "stranger", device: world.device, source: stranger)
            #expect(try await Self.signOut(database, world.device) == 3)
            #expect(try await database.liveSIDs() == ["elsewhere", "stranger"])
            #expect(try await database.registry.rotate(world.rotation(generation: 1)).grant?.session.endedAt != nil)
            #expect(
                try await Self.audit(database) == Array(repeating: "session_ended app app-two", count: 3))
            #expect(try await Self.signOut(database, world.device) == 0)
            #expect(try await Self.signOut(database, world.device, of: stranger) == 1)
        }
    }

    /// A refresh token beside the device_id: the grant must be the client's, alive, and on this device.
    @Test func aRefreshTokenSignsItsOwnDeviceOut() async throws {
        try await TestDatabase.withWorld { database, world in
            try await Self.put(database, "sid-2", device: world.device)
            try await Self.put(database, "elsewhere", device: try Self.digest(8))
            let registry = PostgresRevocationRegistry(database: database.service)
            #expect(try await Self.signOut(database, try Self.digest(8), holding: world.grantID) == 0)
            #expect(try await Self.signOut(database, world.device, of: Self.one, holding: world.grantID) == 0)
            #expect(try await Self.signOut(database, world.device, holding: UniqueID(high: 9, low: 9)) == 0)
            #expect(try await Self.signOut(database, world.device, holding: world.grantID) == 2)
            // The grant is not revoked yet, so a repeated request finishes what the first one began.
            try await Self.put(database, "sid-3", device: world.device)
            #expect(try await Self.signOut(database, world.device, holding: world.grantID) == 1)
            #expect(try await registry.end(world.grantID, of: Self.two, requestID: Self.request) == .ended)
            try await Self.put(database, "sid-4", device: world.device)
            #expect(try await Self.signOut(database, world.device, holding: world.grantID) == 0)
            #expect(try await database.liveSIDs() == ["elsewhere", "sid-4"])
        }
    }

    /// The IdP's login lives on: an id_token with a later iat begins a new session of the name, and no earlier one does.
    @Test func aLaterTokenOfTheSameLoginReturns() async throws {
        try await TestDatabase.withWorld { database, world in
            let before = Self.now
            #expect(try await Self.signOut(database, world.device) == 1)
            let end = try await Self.instant(database, "iat_after")
            #expect(end >= before)
            for (iat, returns) in [(end.seconds - 1, false), (end.seconds, false), (end.seconds + 1, true)] {
                let facts = try await database.registry.admit(
                    world.firstAdmission(sid: "sid-1", tokenIssuedAt: UnixTime(seconds: iat)))
                #expect((facts.grant != nil) == returns, "\(iat - end.seconds)")
            }
            #expect(try await database.liveSIDs() == ["sid-1"])
        }
    }

    /// A session over its absolute lifetime needs a new login, whatever the app says afterwards.
    @Test func signingOutDoesNotReviveAnExpiredLogin() async throws {
        try await TestDatabase.withWorld { database, world in
            var row = SessionRow(
                id: UniqueID(high: 5, low: 5), issuer: Self.issuer, sid: SessionID(validated: "old"),
                subject: Subject(validated: "user"), sourceClient: Self.one, device: try Self.digest(8), expiresIn: -10)
            row.login = Login(authenticatedAt: Self.now.before(1000))
            try await database.put(row)
            #expect(try await Self.signOut(database, try Self.digest(8)) == 1)
            let (expiry, limit) = (
                try await Self.instant(database, "expires_at", of: "old"),
                try await Self.instant(database, "auth_time_after", of: "old")
            )
            #expect(limit == expiry)
            let facts = try await database.registry.admit(
                world.firstAdmission(
                    sid: "old", login: Login(authenticatedAt: row.login.authenticatedAt),
                    tokenIssuedAt: Self.now.adding(30)))
            #expect(facts.grant == nil)
        }
    }

    /// Each change that kills a refresh makes an access token inactive, too.
    @Test(arguments: deaths) func liveness(_ death: Statement) async throws {
        try await TestDatabase.withWorld { database, world in
            let registry = PostgresRevocationRegistry(database: database.service)
            func isLive(_ client: ClientID = Self.two, issuedAt: UnixTime = Self.now) async throws -> Bool {
                try await registry.isLive(world.sessionRowID, of: client, issuedAt: issuedAt, idle: .days(30))
            }
            #expect(try await isLive())
            #expect(try await !isLive(Self.one))
            // Before the grant began.
            #expect(try await !isLive(issuedAt: Self.now.before(.days(300))))
            try await database.run(death, [])
            #expect(try await !isLive())
        }
    }

    private static let deaths = [
        Statement("UPDATE native_sso.sso_grant SET revoked_at = now(), revoke_reason = 'operator'"),
        Statement("UPDATE native_sso.session SET ended_at = now(), end_reason = 'operator'"),
        Statement("UPDATE native_sso.session SET expires_at = now() - interval '1 second'"),
        Statement("UPDATE native_sso.session SET last_used_at = now() - interval '31 days'"),
        Statement("UPDATE native_sso.sso_grant SET expires_at = now() - interval '1 second'"),
        Statement("UPDATE native_sso.client SET enabled = false WHERE client_id = 'app-two'"),
        Statement("DELETE FROM native_sso.sharing_group_member WHERE client_id = 'app-one'"),
        Statement("UPDATE native_sso.sharing_group_member SET role = 'source' WHERE client_id = 'app-two'"),
        Statement(
            """
            INSERT INTO native_sso.device (issuer, device_digest, first_seen_at, blocked_at)
            SELECT issuer, device_digest, now(), now() FROM native_sso.session LIMIT 1
            """),
    ]

    private static func put(
        _ database: PostgresFixture, _ sid: String, device: DeviceDigest, source: ClientID = one
    ) async throws {
        var randomness = SystemRandomNumberGenerator()
        try await database.put(
            SessionRow(
                id: .random(using: &randomness), issuer: issuer, sid: SessionID(validated: sid),
                subject: Subject(validated: "user"), sourceClient: source, device: device, expiresIn: .days(30)))
    }

    private static func audit(_ database: PostgresFixture) async throws -> [String] {
        try await database.run(auditRows, []).map { try $0.text(0) }
    }

    private static func instant(
        _ database: PostgresFixture, _ column: String, of sid: String = "sid-1"
    ) async throws -> UnixTime {
        let row = try #require(try await database.run(instants, [.text(sid)]).first)
        return try row.instant(column)
    }

    private static let auditRows = Statement(
        """
        SELECT kind || ' ' || reason || ' ' || client_id FROM native_sso.audit_event
        WHERE kind IN ('session_ended', 'grant_revoked') ORDER BY occurred_at
        """)
    private static let instants = Statement(
        "SELECT expires_at, iat_after, auth_time_after FROM native_sso.session WHERE sid = sha256($1::text::bytea)")
}
