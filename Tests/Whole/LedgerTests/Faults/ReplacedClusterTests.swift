import BrokerHarness
import PrivateCluster
import Testing

/// The database moves to a new PostgreSQL cluster by a dump. Brokers go on with a cluster that has all their writes, and
/// refuse one that lacks some until an operator accepts it, also after a restart.
@Suite(.timeLimit(.minutes(3))) struct ReplacedClusterTests {
    @Test(arguments: ["end", "keep"])
    func aClusterThatLacksWritesIsRefusedUntilAccepted(sessions: String) async throws {
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
        var broker = try await apps.startBroker()
        let (early, late) = (logins.login(), logins.login())
        let exchange = try await broker.token(try logins.exchange(early))
        let token = try #require(exchange.refreshToken, "\(exchange.text)")

        // Everything but the account that restores.
        let dump = try await old.run("pg_dumpall", ["-d", old.superuserURI, "-w"])
        let script = dump.split(separator: "\n", omittingEmptySubsequences: false).filter {
            !$0.hasPrefix("CREATE ROLE postgres;") && !$0.hasPrefix("ALTER ROLE postgres ")
        }
        try await new.psql(script.joined(separator: "\n") + "\nALTER ROLE postgres PASSWORD '\(old.password)';")
        let lost = try await broker.token(try logins.exchange(late))
        let lostToken = try #require(lost.refreshToken, "\(lost.text)")
        try await old.untilCountedTwice(database: installation.database)
        try await old.kill9()
        try await broker.untilLogged("database_went_backwards")
        #expect(try await broker.token(logins.refresh(token)).isOutage)
        #expect(try await broker.token(logins.refresh(lostToken)).isOutage)
        // A broker that starts anew remembers, too.
        await broker.process.terminate()
        broker = try installation.startBroker()
        try await broker.untilLogged("database_went_backwards")
        _ = try await eventually("it answers") { (try? await broker.readiness()) == 503 ? true : nil }
        #expect(try await broker.token(logins.refresh(lostToken)).isOutage)

        // Nothing happens without --execute.
        let plan = try await installation.command("database", "accept", "--sessions", "end")
        #expect(plan.contains("every session of every user ends") && plan.contains("exported audit from"), "\(plan)")
        #expect(try await broker.readiness() == 503)
        try await installation.command(
            "database", "accept", "--sessions", sessions, "--execute", "--reason", "restored to 09:30")
        try await broker.untilReady()
        let answer = try await broker.token(logins.refresh(token))
        #expect(answer.status == (sessions == "keep" ? 200 : 400), "\(answer.text)")
        #expect(try await broker.token(logins.refresh(lostToken)).status == 400)
        // An id_token of before: for `end` it is dead, whether this database knows its login or not.
        for login in [early, late] {
            let again = try await broker.token(try logins.exchange(login))
            #expect(again.status == (sessions == "keep" ? 200 : 400), "\(again.text)")
        }
        let accepted = try await installation.command("audit", "list", "--kind", "database_accepted")
        #expect(accepted.contains("restored to 09:30"))

        // The old cluster comes back: the acceptance is not there, and none leads back to it.
        try await old.restart()
        try await new.stop()
        _ = try await eventually("an outage") { try await broker.readiness() == 503 ? true : nil }
        #expect(try await broker.token(logins.refresh(token)).isOutage)
        await broker.process.terminate()
        try await old.stop()
    }
}

extension PrivateCluster {
    /// Returns after a broker has counted twice more: it remembers the first of these numbers.
    func untilCountedTwice(database: String) async throws {
        func number() async throws -> Int {
            Int(try await psql("SELECT sum(number) FROM native_sso.broker_count", database: database).dropLast()) ?? 0
        }
        let before = try await number()
        _ = try await eventually("two counts") { try await number() >= before + 2 ? true : nil }
    }
}
