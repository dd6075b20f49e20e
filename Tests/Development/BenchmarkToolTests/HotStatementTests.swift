import Migrator
import PostgresClient
import PrivateCluster
import Registry
import BrokerHarness
import Testing

@testable import native_sso_bench

/// What is measured is what the broker does: each call advances a grant, ours and pgbench's alike.
@Suite(.serialized, .timeLimit(.minutes(5))) struct HotStatementTests {
    private struct Fixture {
        let cluster: BenchmarkCluster
        let database: String
        let pool: ConnectionPool
        let configuration: PostgresConfiguration

        func generations() async throws -> [Int] {
            try await cluster.sql(
                "SELECT generation FROM native_sso.sso_grant ORDER BY grant_id;", database: database
            ).split(separator: "\n").compactMap { Int($0) }
        }
    }

    /// A migrated database with the apps and ten logins, number 0 to 9.
    private func withFixture(_ body: (Fixture) async throws -> Void) async throws {
        let server = try await PrivateCluster.shared
        let cluster = try await BenchmarkCluster(server)
        try await server.withDatabase { database in
            var configuration = try PostgresConfiguration(
                uri: server.connectionURI(database: database),
                password: PostgresPassword(server.password))
            configuration.callDeadline = .seconds(30)
            configuration = configuration.forHotCalls()
            _ = try await Migrator(configuration).up()
            for app in [SampleApps.source, SampleApps.targets[0]] {
                let row = ClientRow(app, membership: .init(group: SampleApps.group, issuer: SampleApps.issuer)) {
                    $0.allowedScope = SampleApps.scope.split(separator: " ").map(String.init)
                }
                try await cluster.sql(row.sql.map { $0 + ";\n" }.joined(), database: database)
            }
            try await Population.insert(0..<10, idle: "0 seconds", database: database, on: cluster)
            let pool = ConnectionPool(configuration)
            let fixture = Fixture(cluster: cluster, database: database, pool: pool, configuration: configuration)
            try await ending {
                try await body(fixture)
            } with: {
                await pool.shutdown()
            }
        }
        try await cluster.close()
    }

    @Test(arguments: HotStatement.allCases)
    func ourCallAdvancesAGrant(_ statement: HotStatement) async throws {
        try await withFixture { fixture in
            for generation in 1...2 {
                let row = PopulationRow(3)
                let rows = try await fixture.pool.query(
                    statement.statement, statement.parameters(row, generation: Int32(generation)),
                    locking: statement.lock(row))
                #expect(rows.count == 1)
            }
            #expect(try await fixture.generations() == [1, 1, 1, 3, 1, 1, 1, 1, 1, 1])
        }
    }

    @Test(arguments: HotStatement.allCases)
    func pgbenchsCallAdvancesTheSameGrant(_ statement: HotStatement) async throws {
        try await withFixture { fixture in
            let call = try #require(statement.script.split(separator: "\n").last { $0.hasPrefix("SELECT") })
            for generation in ["1", "2"] {
                let sql = call.replacing(":n", with: "3").replacing(":generation", with: generation)
                try await fixture.cluster.sql(
                    "SET search_path = native_sso, pg_temp; \(sql)", database: fixture.database)
            }
            #expect(try await fixture.generations() == [1, 1, 1, 3, 1, 1, 1, 1, 1, 1])
        }
    }

    /// In a short round of the lanes, too.
    @Test func whatIsCountedWasDone() async throws {
        try await withFixture { fixture in
            #expect(try await fixture.cluster.walPosition() > 0)
            let lanes = BatchingLanes(fixture.configuration)
            try await lanes.waitUntilConnected(within: .seconds(10))
            let block = PopulationBlock(first: 1000, callers: 2)
            try await Population.insert(block.range, idle: "0 seconds", database: fixture.database, on: fixture.cluster)
            let window = try await Callers(executor: lanes, statement: .refresh, block: block)
                .measure(seconds: 0.2, server: fixture.cluster.processes)
            await lanes.shutdown()
            #expect(window.operations > 0)
            #expect(window.client > 0)
            #expect(window.server > 0)
        }
    }
}
