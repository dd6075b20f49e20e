import Migrator
import NativeSSO
import PostgresClient
import PrivateCluster
import Registry

/// A separate database for each test, copied from a template that was migrated once.
enum TestDatabase {
    /// Runs `body` with a migrated, empty database.
    ///
    /// - Parameters:
    ///   - overLanes: Whether the hot calls use batching lanes, as in a broker, or the pool.
    ///   - gathersFrom: So many calls of one kind are made by one statement, by lanes.
    static func withFixture<Value: Sendable>(
        overLanes: Bool = false, gathersFrom: Int = LaneConfiguration().gathersFrom,
        _ body: @Sendable (PostgresFixture) async throws -> Value
    ) async throws -> Value {
        let cluster = try await PrivateCluster.shared
        return try await cluster.withDatabase(template: migrated.value) { name in
            let fixture = try await fixture(of: name, overLanes: overLanes, gathersFrom: gathersFrom)
            return try await ending {
                try await body(fixture)
            } with: {
                await fixture.lanes?.shutdown()
                await fixture.service.shutdown()
                await fixture.superuser.shutdown()
            }
        }
    }

    /// Runs `body` with a migrated database and a login in it.
    static func withWorld(
        overLanes: Bool = false, gathersFrom: Int = LaneConfiguration().gathersFrom,
        _ body: @Sendable (PostgresFixture, World) async throws -> Void
    ) async throws {
        try await withFixture(overLanes: overLanes, gathersFrom: gathersFrom) { database in
            try await body(database, World.make(in: database))
        }
    }

    /// One database for the checks of a suite that follow one another. It ends with the process.
    static func shared(
        overLanes: Bool = false, gathersFrom: Int = LaneConfiguration().gathersFrom
    ) async throws -> PostgresFixture {
        let name = "shared" + String(UInt64.random(in: 0...UInt64.max), radix: 36)
        try await PrivateCluster.shared.createDatabase(name, template: migrated.value)
        return try await fixture(of: name, overLanes: overLanes, gathersFrom: gathersFrom)
    }

    private static func fixture(of name: String, overLanes: Bool, gathersFrom: Int) async throws -> PostgresFixture {
        let cluster = try await PrivateCluster.shared
        var gathering = LaneConfiguration()
        gathering.gathersFrom = gathersFrom
        let service = try ConnectionPool(
            configuration(cluster, database: name, user: serviceRole, connections: 16).forHotCalls())
        let lanes =
            overLanes
            ? BatchingLanes(
                try configuration(cluster, database: name, user: serviceRole, connections: 1).forHotCalls(), gathering)
            : nil
        return PostgresFixture(
            registry: PostgresGrantRegistry(database: lanes ?? service as any StatementExecutor), service: service,
            lanes: lanes,
            superuser: try ConnectionPool(configuration(cluster, database: name, user: PrivateCluster.superuser)),
            cluster: cluster, name: name)
    }

    static func configuration(
        _ cluster: PrivateCluster, database: String, user: String, connections: Int = 4
    ) throws -> PostgresConfiguration {
        var configuration = try PostgresConfiguration(
            uri: cluster.connectionURI(database: database, user: user),
            password: PostgresPassword(cluster.password))
        configuration.poolSize = connections
        // A loaded machine must not turn a rule into an outage. Separate tests cover deadlines.
        configuration.callDeadline = .seconds(10)
        configuration.queueWait = .seconds(10)
        configuration.lockTimeout = .seconds(10)
        configuration.connectTimeout = .seconds(10)
        return configuration
    }

    static let serviceRole = "sso_service"

    private static let migrated = Task {
        let cluster = try await PrivateCluster.shared
        let name = "native_sso_template"
        try await cluster.createDatabase(name)
        _ = try await Migrator(configuration(cluster, database: name, user: PrivateCluster.superuser)).up()
        try await cluster.makeLogin(role: serviceRole, "IN ROLE native_sso_broker")
        // No broker counts here.
        try await cluster.psql("UPDATE native_sso.service_count SET counted_at = 'infinity'", database: name)
        return name
    }
}
