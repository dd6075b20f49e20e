import BrokerHarness
import PrivateCluster
import Testing

/// The database moves to a new PostgreSQL cluster, as by `pg_upgrade` or a restore. Running brokers refuse the new
/// cluster until an operator accepts it, and then go on without a restart.
@Suite(.timeLimit(.minutes(3))) struct ReplacedClusterTests {
    @Test func anotherClusterIsRefusedUntilAccepted() async throws {
        let (old, new) = (
            try await PrivateCluster.start(options: .testing), try await PrivateCluster.start(options: .testing)
        )
        let apps = try await AppFixture(primary: { old }) { configuration in
            let installation = try Installation(files: configuration, on: old) { database, user in
                "postgresql://\(user)@127.0.0.1:\(old.port),127.0.0.1:\(new.port)/\(database)?target_session_attrs=read-write"
            }
            try await installation.prepare()
            return installation
        }
        let (installation, logins) = (apps.installation, apps.logins())
        let broker = try await apps.startBroker()
        let exchange = try await broker.token(try logins.exchange(logins.login()))
        let token = try #require(exchange.refreshToken, "\(exchange.text)")

        // Everything but the account that restores.
        let dump = try await old.run("pg_dumpall", ["-d", old.superuserURI, "-w"])
        let script = dump.split(separator: "\n", omittingEmptySubsequences: false).filter {
            !$0.hasPrefix("CREATE ROLE postgres;") && !$0.hasPrefix("ALTER ROLE postgres ")
        }
        try await new.psql(script.joined(separator: "\n") + "\nALTER ROLE postgres PASSWORD '\(old.password)';")
        try await old.kill9()
        try await broker.untilLogged("database_went_backwards")
        #expect(try await broker.token(logins.refresh(token)).isOutage)

        // Nothing happens without --execute.
        let plan = try await installation.command("database", "accept")
        #expect(plan.contains("running brokers that know the cluster"), "\(plan)")
        #expect(try await broker.readiness() == 503)
        try await installation.command("database", "accept", "--execute", "--reason", "pg_upgrade to 16")
        try await broker.untilReady()
        let answer = try await broker.token(logins.refresh(token))
        #expect(answer.status == 200, "\(answer.text)")
        #expect(
            try await installation.command("audit", "list", "--kind", "database_accepted").contains("pg_upgrade to 16"))

        // The old cluster comes back: the acceptance is not there, and none leads back to it.
        try await old.restart()
        try await new.stop()
        _ = try await eventually("an outage") { try await broker.readiness() == 503 ? true : nil }
        #expect(try await broker.token(logins.refresh(token)).isOutage)
        await broker.process.terminate()
        try await old.stop()
    }
}
