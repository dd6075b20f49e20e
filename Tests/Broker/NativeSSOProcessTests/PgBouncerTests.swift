import BrokerHarness
import BrokerTesting
import PostgresClient
import PrivateCluster
import Testing

@Suite("PgBouncer before the database", .enabled(if: PgBouncer.program != nil), .timeLimit(.minutes(5)))
struct PgBouncerTests {
    private static let users = [PrivateCluster.superuser, Installation.loginRole]
    private let remedy = PostgresError.Reason.transactionPoolingRemedy

    @Test func `in session mode everything works, and a change of the registry is announced`() async throws {
        try await Installation.withSchema { installation in
            let pooler = try await PgBouncer("pool_mode = session", before: installation.cluster, users: Self.users)
            let broker = try await Broker.start(
                installation, environment: pooler.environment(Installation.loginRole, installation))
            try await broker.waitUntilReady()
            try await installation.registerApps()
            let login = try Login(installation, sid: "s")
            try await broker.wait { try await $0.post(login.exchange(by: "app2")).status == 200 }
            let owner = pooler.environment(PrivateCluster.superuser, installation)
            let list = try await installation.run(["client", "list"], environment: owner)
            #expect(list.status == 0 && list.output.contains("app2"), "\(list.errors)")
            // Its settings have arrived, and its listener has a session of its own.
            let sessions = try await installation.cluster.psql(
                """
                SELECT count(*) FILTER (WHERE query LIKE 'LISTEN%'), count(*) > 1 FROM pg_stat_activity
                WHERE datname = '\(installation.database)' AND usename = '\(Installation.loginRole)'
                """)
            #expect(sessions == "1|t\n")
            try await broker.stop()
        }
    }

    @Test func `in transaction mode the broker and its commands say what to change`() async throws {
        try await Installation.withSchema { installation in
            try await withThrowingDiscardingTaskGroup { group in
                for mode in ["transaction", "statement"] {
                    group.addTask { try await refusesToServe(installation, mode) }
                }
            }
        }
    }

    private func refusesToServe(_ installation: Installation, _ mode: String) async throws {
        let pooler = try await PgBouncer("pool_mode = \(mode)", before: installation.cluster, users: Self.users)
        let owner = pooler.environment(PrivateCluster.superuser, installation)
        async let serve = installation.run(
            ["serve"], environment: pooler.environment(Installation.loginRole, installation))
        async let list = installation.run(["client", "list"], environment: owner)
        async let status = installation.run(["migrate", "status"], environment: owner)
        let (end, errors) = (try await serve.status, try await serve.errors)
        #expect(end == 1 && errors.hasSuffix("native-sso: \(remedy)\n"), "\(errors)")
        for outcome in [try await list, try await status] {
            #expect(outcome.status == 3 && outcome.errors.contains(remedy), "\(outcome.errors)")
        }
    }

    /// Other clients take the server processes in between: with fewer than clients, and with some to spare.
    @Test(arguments: [(1, 0), (4, 0), (20, 1)])
    func `transaction mode is found while other clients are busy`(size: Int, roundRobin: Int) async throws {
        try await Installation.withSchema { installation in
            let pooler = try await PgBouncer(
                "pool_mode = transaction\ndefault_pool_size = \(size)\nserver_round_robin = \(roundRobin)",
                before: installation.cluster, users: Self.users)
            try installation.write("SELECT pg_sleep(0.002 * random());", to: "load.sql")
            let load = Task {
                try await installation.cluster.run(
                    "pgbench",
                    [
                        "-n", "-c", "12", "-T", "100", "-f", installation.file("load.sql"), "-h", "127.0.0.1", "-p",
                        "\(pooler.port)", "-U", PrivateCluster.superuser, installation.database,
                    ])
            }
            try await installation.cluster.until(
                "SELECT count(*) >= \(min(size, 4)) FROM pg_stat_activity WHERE datname = '\(installation.database)';",
                answers: "t")
            let owner = pooler.environment(PrivateCluster.superuser, installation)
            for outcome in try await atOnce(4, { try await installation.run(["client", "list"], environment: owner) }) {
                #expect(outcome.status == 3 && outcome.errors.contains(remedy), "\(outcome.errors)")
            }
            pooler.kill()
            _ = await load.result
        }
    }
}
