import Migrations
import Migrator
import PostgresClient
import PrivateCluster
import Testing

/// Upgrades of a database that brokers are using.
extension MigratorTests {
    /// The trial names the tables in use that a file locks, and leaves nothing behind.
    @Test func trialSaysWhatAFileLocksAndUndoesIt() async throws {
        try await withDatabase { cluster, database, configuration in
            _ = try await Migrator(configuration, migrations: Self.three).up()
            let files = [
                Self.file(4, "CREATE TABLE native_sso.t4 (n int); ALTER TABLE native_sso.t1 ADD COLUMN m int;"),
                Self.file(5, "CREATE INDEX ON native_sso.t2 (n); SELECT pg_sleep(0.05);"),
            ]
            let next = Migrator(configuration, migrations: Self.three + files)
            let trials = try await next.trial()
            #expect(trials.map(\.migration.file) == files.map(\.file))
            #expect(trials.map(\.locks) == [["t1 AccessExclusiveLock"], ["t2 ShareLock"]])
            #expect(trials[1].duration >= .milliseconds(50))
            let left = try await cluster.psql(
                "SELECT to_regclass('native_sso.t4') IS NULL, (SELECT count(*) FROM native_sso.schema_migration)",
                database: database)
            #expect(left == "t|3\n")
            #expect(try await next.up().count == 2)
            #expect(try await next.trial().isEmpty)
        }
    }

    /// The session of a long transaction that has read `t1`, until `body` returns.
    private func withReader(
        _ cluster: PrivateCluster, _ database: String, _ body: () async throws -> Void
    ) async throws {
        let reader = Task {
            try await cluster.psql("BEGIN; SELECT FROM native_sso.t1; SELECT pg_sleep(60);", database: database)
        }
        let sessions = "pg_stat_activity WHERE query LIKE '%pg_sleep(60)%' AND pid <> pg_backend_pid()"
        try await cluster.until("SELECT count(*) FROM \(sessions) AND state = 'active';", answers: "1")
        try await body()
        try await cluster.until("SELECT count(*) FROM \(sessions) AND state = 'active';", answers: "1")
        try await cluster.psql("SELECT pg_terminate_backend(pid) FROM \(sessions)")
        _ = await reader.result
    }

    /// A long transaction keeps the file from its lock, and the file keeps the requests after it waiting: only until it
    /// gives up. The reader is still there then.
    @Test(arguments: [true, false])
    func migrationGivesUpWhenATableIsInUse(isTrial: Bool) async throws {
        try await withDatabase { cluster, database, configuration in
            _ = try await Migrator(configuration, migrations: Self.three).up()
            let change = "-- Locks: t1\nCREATE TABLE native_sso.t4 (n int); ALTER TABLE native_sso.t1 ADD COLUMN m int;"
            let next = Migrator(
                configuration, migrations: Self.three + [Self.file(4, change)], lockTimeout: .seconds(2))
            try await withReader(cluster, database) {
                async let outcome = refusal { () throws(MigratorError) in
                    if isTrial { _ = try await next.trial() } else { _ = try await next.up() }
                }
                try await cluster.until(
                    "SELECT count(*) FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock';", answers: "1")
                // Live traffic that arrives behind it.
                try await cluster.psql("INSERT INTO native_sso.t1 VALUES (1)", database: database)
                let error = await outcome
                guard case .failed(_, .server(SQLState("55P03"), _, _)) = error else { return #expect(error == nil) }
            }
            let left = try await cluster.psql(
                """
                SELECT to_regclass('native_sso.t4') IS NULL, (SELECT count(*) FROM native_sso.schema_migration),
                    (SELECT count(*) FROM native_sso.t1)
                """, database: database)
            #expect(left == "t|3|1\n")
            #expect(try await next.up().count == 1)
        }
    }

    /// A file that has its lock and takes too long is undone as well.
    @Test func fileThatLocksATableForLongIsUndone() async throws {
        try await withDatabase { cluster, database, configuration in
            _ = try await Migrator(configuration, migrations: Self.three).up()
            let change = "-- Locks: t1\nALTER TABLE native_sso.t1 ADD COLUMN m int; SELECT pg_sleep(60);"
            let next = Migrator(
                configuration, migrations: Self.three + [Self.file(4, change)], lockTimeout: .milliseconds(200))
            let error = await refusal { () throws(MigratorError) in _ = try await next.up() }
            guard case .failed(file: "0004_step_4.sql", _) = error else { return #expect(error == nil) }
            try await cluster.psql("INSERT INTO native_sso.t1 VALUES (1)", database: database)
            #expect(try await next.status().pending.count == 1)
        }
    }

    @Test func noReleaseIsSkipped() async throws {
        try await withDatabase { cluster, database, configuration in
            let files = zip(1...5, ["0.1", "0.1", "0.2", "0.3", "0.3"]).map { version, release in
                Self.file(version, "-- Release: \(release)\nCREATE TABLE native_sso.t\(version) (n int);")
            }
            func release(_ count: Int, _ body: String) -> Migrator {
                Migrator(configuration, migrations: files.prefix(count) + [Self.repeatable(body)])
            }
            let (first, second, third) = (
                release(2, "SELECT 1::text"), release(3, "SELECT 2::text"), release(5, "SELECT 3::text")
            )
            _ = try await first.up()
            let errors = [
                await refusal { () throws(MigratorError) in _ = try await third.up() },
                await refusal { () throws(MigratorError) in _ = try await third.trial() },
            ]
            #expect(errors == [.skipsRelease("0.2", last: "0.3"), .skipsRelease("0.2", last: "0.3")])
            #expect(errors[0]?.description.contains("Install release 0.2, ") == true)
            #expect(try await first.up().isEmpty, "nothing was applied")
            #expect(try await second.up().map(\.file) == ["0003_step_3.sql", "answers.sql"])
            #expect(try await third.up().count == 3)
        }
        // A new database has no brokers, also when its first migration was broken off.
        try await withDatabase { _, _, configuration in
            let files = [Self.file(1, "-- Release: 0.1\nSELECT 1;"), Self.file(2, "-- Release: 0.2\nSELECT 1;")]
            let later = files + [Self.file(3, "-- Release: 0.3\nSELECT 1;"), Self.repeatable("SELECT 1::text")]
            _ = try await Migrator(configuration, migrations: Array(files.prefix(1))).up()
            #expect(try await Migrator(configuration, migrations: later).up().count == 3)
        }
    }
}
