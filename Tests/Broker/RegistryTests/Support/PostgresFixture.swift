import BrokerTesting
import RegistryConformance
import NativeSSO
import PostgresClient
import PrivateCluster
import Registry

/// A migrated database, with a pool of the service and one of the superuser.
struct PostgresFixture: GrantRegistryFixture {
    let registry: any GrantRegistry
    /// Logs in as a member of `native_sso_broker`, as the service does.
    let service: ConnectionPool
    /// The service's lanes, if the hot calls use them.
    let lanes: BatchingLanes?
    let superuser: ConnectionPool
    let cluster: PrivateCluster
    let name: String

    /// A pool whose role may add a signing key and audit it, but cannot list the keys.
    func poolThatAddsKeysOnly() async throws -> ConnectionPool {
        let role = "adds_\(name)"
        try await cluster.makeLogin(role: role)
        try await cluster.psql(
            """
            GRANT USAGE ON SCHEMA native_sso TO \(role);
            GRANT INSERT, SELECT (kid, use, state) ON native_sso.signing_key TO \(role);
            GRANT EXECUTE ON FUNCTION native_sso.record_administration TO \(role);
            """, database: name)
        return try ConnectionPool(TestDatabase.configuration(cluster, database: name, user: role))
    }

    func put(client: ClientID, isEnabled: Bool) async throws {
        try await run(FixtureSQL.putClient, [.text(client.string), .bool(isEnabled)])
    }

    func put(_ member: MemberRow) async throws {
        try await run(
            FixtureSQL.putGroup, [.text(member.membership.group.string), .text(member.issuer.string)])
        try await run(
            FixtureSQL.putMember,
            [
                .text(member.membership.group.string), .text(member.issuer.string), .text(member.client.string),
                .text(member.membership.role.rawValue),
                member.membership.scopeCeiling.map { .textArray($0.tokens) } ?? .null,
                member.membership.handoff.map { .text($0.rawValue) } ?? .null,
                .textArray(member.membership.handoffOrigins.map(\.string)),
            ])
    }

    var handoffs: any HandoffRegistry { PostgresHandoffRegistry(database: service, atOnce: 16) }

    var administration: Administration { Administration(pool: superuser) }

    func passHandoffLife() async throws { try await run(FixtureSQL.passHandoffLife, []) }

    func removeMember(_ client: ClientID, at issuer: Issuer) async throws {
        try await run(FixtureSQL.removeMember, [.text(client.string), .text(issuer.string)])
    }

    func put(_ session: SessionRow) async throws {
        try await run(
            FixtureSQL.putSession,
            [
                .uuid(session.id.octets), .text(session.issuer.string), .text(session.sid.string),
                session.subject.map { .text($0.string) } ?? .null, .text(session.profile.rawValue),
                .bytes(session.device.octets), .text(session.sourceClient.string),
                .int64(session.expiresIn.count), .int64(session.lastUsed.count), .bool(session.isEnded),
                Self.instant(session.login.authenticatedAt), Self.instant(session.iatAfter),
                Self.instant(session.authTimeAfter),
            ])
        if !session.isEnded, session.iatAfter != nil || session.authTimeAfter != nil {
            try await run(
                FixtureSQL.limitSession,
                [
                    .uuid(session.id.octets), Self.instant(session.iatAfter), Self.instant(session.authTimeAfter),
                ])
        }
    }

    private static func instant(_ time: UnixTime?) -> PostgresValue {
        time.map { .timestamp($0.seconds * 1_000_000) } ?? .null
    }

    func put(_ device: DeviceRow) async throws {
        try await run(
            FixtureSQL.putDevice,
            [
                .text(device.issuer.string), .bytes(device.digest.octets), .bool(device.isBlocked),
                .textArray(device.pins.map(\.key.string)), .textArray(device.pins.map(\.value.string)),
            ])
    }

    func disable(_ subject: Subject, of issuer: Issuer) async throws {
        try await run(FixtureSQL.disable, [.text(issuer.string), .text(subject.string)])
    }

    func put(_ grant: GrantRow) async throws {
        try await run(
            FixtureSQL.putGrant,
            [
                .uuid(grant.id.octets), .uuid(grant.session.octets), .text(grant.client.string),
                .text(grant.sourceClient.string), .bytes(grant.device.octets), .int32(grant.generation),
                .int64(grant.rotated.count), .bool(grant.isRevoked), .int64(grant.expiresIn.count),
                .textArray(grant.scope.tokens), .textArray(grant.audiences),
                Self.instant(grant.login.authenticatedAt),
                grant.login.contextClass.map { .text($0) } ?? .null, .textArray(grant.login.methods),
                grant.key.map { .text($0.string) } ?? .null, .int32(grant.exchangedGeneration),
                .bool(grant.wasReplayed), .bool(grant.cameLate),
                grant.spent.isEmpty
                    ? .null
                    : .text("{\(grant.spent.map { "[\($0.lowerBound),\($0.upperBound)]" }.joined(separator: ","))}"),
                .int32(grant.keylessBefore), grant.claims.text.map { .text($0) } ?? .null,
            ])
    }

    func put(_ service: ServiceHistory) async throws {
        try await run(FixtureSQL.forgetGaps, [])
        for gap in service.gaps { try await run(FixtureSQL.putGap, [.int64(gap.began), .int64(gap.ended)]) }
        try await run(FixtureSQL.putCount, [service.lastCount.map { .int64($0) } ?? .null])
    }

    func put(_ used: ProofID) async throws {
        try await run(FixtureSQL.putUsedProof, [.text("dpop"), .bytes(used.digest)])
    }

    func put(_ used: AssertionID) async throws {
        try await run(FixtureSQL.putUsedProof, [.text("client_assertion"), .bytes(used.digest)])
    }

    func endSession(_ id: UniqueID) async throws {
        _ = try await administration.end(
            [id], reason: "operator",
            AdministrativeAct(actor: "test", reason: nil, requestID: UniqueID(high: 1, low: 2)))
    }

    func counts() async throws -> RegistryCounts {
        let row = try await run(FixtureSQL.counts, [])[0]
        return RegistryCounts(
            sessions: Int(try row.int64(0)), grants: Int(try row.int64(1)), liveGrants: Int(try row.int64(2)),
            devices: Int(try row.int64(3)), auditRows: Int(try row.int64(4)),
            usedProofs: Int(try row.int64(5)))
    }

    func digestOfState() async throws -> String {
        try await run(FixtureSQL.digest, [])[0].text(0)
    }

    @discardableResult
    func run(_ statement: Statement, _ parameters: [PostgresValue]) async throws -> [Row] {
        try await superuser.query(statement, parameters)
    }

    /// Ends the service's connections. Only then do the server processes report their counts and leave the list.
    func endService() async throws {
        await lanes?.shutdown()
        await service.shutdown()
        while try await run(FixtureSQL.serviceProcesses, [])[0].int64(0) > 0 { await Task.yield() }
    }

    /// Runs `body` with one connection of the superuser for all statements.
    func withOwnConnection(_ body: (ConnectionPool) async throws -> Void) async throws {
        let pool = ConnectionPool(
            try TestDatabase.configuration(
                cluster, database: name, user: PrivateCluster.superuser, connections: 1))
        try await ending {
            try await body(pool)
        } with: {
            await pool.shutdown()
        }
    }
}
