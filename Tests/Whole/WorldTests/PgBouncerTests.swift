import BrokerHarness
import BrokerTesting
import PostgresClient
import PrivateCluster
import StrictCoding
import Testing

@Suite("PgBouncer before the database", .needs(.pgbouncer), .timeLimit(.minutes(5)))
struct PgBouncerTests {
    private let remedy = PostgresError.Reason.transactionPoolingRemedy

    private func pooler(_ settings: String, _ installation: Installation) async throws -> PgBouncer {
        try await PgBouncer(
            settings, before: installation.cluster, users: [PrivateCluster.superuser, installation.serviceRole])
    }

    @Test func `in session mode everything works, and a change of the registry is announced`() async throws {
        let (installation, logins) = try await Installation.ofTwoApps()
        let pooler = try await pooler("pool_mode = session", installation)
        let environment = pooler.environment(installation.serviceRole, installation)
        try await installation.withBroker("pooled", environment: environment) { broker in
            #expect(try await broker.token(try logins.exchange(logins.login())).status == 200)
            try await installation.command("client", "disable", logins.target, "--execute", "--reason", "test")
            _ = try await eventually("the broker knows that the app is disabled") {
                try await broker.token(try logins.exchange(logins.login())).error == "invalid_client" ? true : nil
            }
            let owner = pooler.environment(PrivateCluster.superuser, installation)
            let list = try await installation.run(["client", "list"], environment: owner)
            #expect(list.status == 0 && list.output.contains("app-two"), "\(list.errors)")
            // Its settings have arrived, and its listener has a session of its own.
            let sessions = try await installation.cluster.psql(
                """
                SELECT count(*) FILTER (WHERE query LIKE 'LISTEN%'), count(*) > 1 FROM pg_stat_activity
                WHERE datname = '\(installation.database)' AND usename = '\(installation.serviceRole)'
                """)
            #expect(sessions == "1|t\n")
        }
    }

    @Test(arguments: ["transaction", "statement"])
    func `in other modes the broker and its commands say what to change`(mode: String) async throws {
        let (installation, _) = try await Installation.ofTwoApps()
        let pooler = try await pooler("pool_mode = \(mode)", installation)
        let broker = try installation.startBroker(
            "pooled", environment: pooler.environment(installation.serviceRole, installation))
        #expect(await broker.process.exitStatus == 1)
        #expect(broker.process.errors.hasSuffix("native-sso: \(remedy)\n"), "\(broker.process.errors)")
        let owner = pooler.environment(PrivateCluster.superuser, installation)
        for command in [["client", "list"], ["migrate", "status"]] {
            let outcome = try await installation.run(command, environment: owner)
            #expect(outcome.status == 3 && outcome.errors.contains(remedy), "\(outcome.errors)")
        }
        let doctor = try await installation.run(["--json", "doctor"], environment: owner)
        #expect(doctor.status == 3, "\(doctor.errors)")
        let limits = JSONLimits(members: 8192, elements: 8192)
        let findings = try JSONReader.parse(Array(doctor.output.utf8), limits: limits).object?.array("findings") ?? []
        let connection = findings.compactMap(\.object).first { $0.string("check") == "database.connection" }
        #expect(connection?.string("state") == "failed")
        #expect(connection?.string("seen")?.contains("pool_mode = session") == true, "\(doctor.output)")
    }

    /// Other clients take the server processes in between: with fewer than clients, and with some to spare.
    @Test(arguments: [(1, 0), (4, 0), (20, 1)])
    func `transaction mode is found while other clients are busy`(size: Int, roundRobin: Int) async throws {
        let (installation, _) = try await Installation.ofTwoApps()
        let pooler = try await pooler(
            "pool_mode = transaction\ndefault_pool_size = \(size)\nserver_round_robin = \(roundRobin)", installation)
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
