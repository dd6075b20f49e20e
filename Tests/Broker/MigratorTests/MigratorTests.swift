import Glibc
import Migrations
import Migrator
import PostgresClient
import PrivateCluster
import Testing

@Suite(.timeLimit(.minutes(2))) struct MigratorTests {
    static func file(_ version: Int, _ sql: String) -> Migration {
        Migration(file: "000\(version)_step_\(version).sql", sql: Array(sql.utf8))
    }

    static let three = (1...3).map { file($0, "CREATE TABLE native_sso.t\($0) (n int); SELECT 1;") }

    func withDatabase(
        _ body: (_ cluster: PrivateCluster, _ database: String, _ configuration: PostgresConfiguration) async throws ->
            Void
    ) async throws {
        let cluster = try await PrivateCluster.shared
        try await cluster.withDatabase { database in
            try await body(cluster, database, cluster.configuration(database: database))
        }
    }

    func refusal(_ call: () async throws(MigratorError) -> Void) async -> MigratorError? {
        do throws(MigratorError) {
            try await call()
            return nil
        } catch {
            return error
        }
    }

    /// An operator does not need to be superuser. A role that may create roles and owns the database is enough. Where the
    /// cluster's roles may do more later, drift names them.
    @Test func migratesAsOneWhoMayMakeRoles() async throws {
        let cluster = try await PrivateCluster.start(options: .testing)  // a new cluster without the roles
        try await cluster.makeLogin(role: "operator", "CREATEROLE")
        try await cluster.psql("CREATE DATABASE sso OWNER operator")
        let migrator = Migrator(
            try PostgresConfiguration(
                uri: cluster.connectionURI(database: "sso", user: "operator"),
                password: PostgresPassword(cluster.password)))
        let applied = try await migrator.up()
        #expect(applied.count == Migrations.all.count)
        try await migrator.verify()

        try await cluster.psql("CREATE DATABASE other")
        let other = Migrator(try cluster.configuration(database: "other"))
        _ = try await other.up()
        try await cluster.psql("ALTER ROLE native_sso_broker LOGIN; GRANT native_sso_admin TO native_sso_registrar")
        let drift = try await other.drift()
        #expect(drift.map(\.object) == ["role native_sso_broker", "role native_sso_registrar"], "\(drift)")
        #expect(drift.map(\.found) == ["may log in", "is a member of native_sso_admin"], "\(drift)")
        try await cluster.stop()
    }

    /// Where an administrator has made the roles, the owner needs no privilege in the cluster.
    @Test func migratesAsOneWhoMayMakeNoRoles() async throws {
        try await withDatabase { cluster, database, configuration in
            _ = try await Migrator(configuration).up()  // the cluster has the roles
            try await cluster.makeLogin(role: "plain_owner", "IN ROLE native_sso_admin")
            try await cluster.psql("CREATE DATABASE plain OWNER plain_owner")
            let migrator = Migrator(
                try PostgresConfiguration(
                    uri: cluster.connectionURI(database: "plain", user: "plain_owner"),
                    password: PostgresPassword(cluster.password)))
            let applied = try await migrator.up()
            #expect(applied.count == Migrations.all.count)
            try await migrator.verify()
        }
    }

    @Test func freshDatabaseIsMigratedOnceAndFitsTheService() async throws {
        try await withDatabase { cluster, database, configuration in
            let migrator = Migrator(configuration)
            let pending = MigratorError.pending(files: Migrations.all.map(\.file))
            let before = await refusal { () throws(MigratorError) in try await migrator.verify() }
            #expect(before == pending)
            let pool = ConnectionPool(configuration)
            try await pool.waitUntilConnected(within: .seconds(20))
            let unfit = try await Migrator.incompatibility(of: pool)
            #expect(unfit == pending)
            await pool.shutdown()
            let applied = try await migrator.up().map(\.version)
            #expect(applied == Migrations.all.map(\.version))
            let again = try await migrator.up()
            #expect(again.isEmpty)
            try await migrator.verify()
            let status = try await migrator.status()
            #expect(status.pending.isEmpty)
            #expect(status.applied.map(\.appliedBy).allSatisfy { $0 == "postgres" })

            try await cluster.makeLogin(role: "migrator_test_service", "IN ROLE native_sso_broker")
            let service = ConnectionPool(
                try PostgresConfiguration(
                    uri: cluster.connectionURI(database: database, user: "migrator_test_service"),
                    password: PostgresPassword(cluster.password)))
            try await service.waitUntilConnected(within: .seconds(20))
            let found = try await Migrator.incompatibility(of: service)
            #expect(found == nil)
            let newest = try #require(Migrations.all.last { $0.version != nil })
            let older = try await Migrator.incompatibility(
                of: service, with: Migrations.all.filter { $0.file != newest.file })
            #expect(older == .databaseIsNewer(file: newest.file))
            await service.shutdown()
        }
    }

    @Test func changedFileAndGapAreRefusedByName() async throws {
        try await withDatabase { cluster, database, configuration in
            _ = try await Migrator(configuration, migrations: Self.three).up()
            var changed = Self.three
            changed[1] = Self.file(2, "CREATE TABLE native_sso.t2 (n int); SELECT 2;")
            changed.append(Self.file(4, "CREATE TABLE native_sso.t4 (n int)"))
            let migrator = Migrator(configuration, migrations: changed)
            let error = await refusal { () throws(MigratorError) in _ = try await migrator.up() }
            #expect(error == .changed(file: "0002_step_2.sql"))
            #expect(error?.description.contains("0002_step_2.sql") == true)
            let table = try await cluster.psql("SELECT to_regclass('native_sso.t4')", database: database)
            #expect(table == "\n")
            // A file that was never applied, before one that was.
            try await cluster.psql("DELETE FROM native_sso.schema_migration WHERE version = 2", database: database)
            let unchanged = Migrator(configuration, migrations: Self.three)
            let gap = await refusal { () throws(MigratorError) in _ = try await unchanged.up() }
            #expect(gap == .gap(file: "0002_step_2.sql", database: 3))
        }
    }

    @Test func newerDatabaseIsRefusedByTheNameOfItsFile() async throws {
        try await withDatabase { _, _, configuration in
            _ = try await Migrator(configuration, migrations: Self.three).up()
            let older = Migrator(configuration, migrations: Array(Self.three.prefix(2)))
            let error = await refusal { () throws(MigratorError) in _ = try await older.up() }
            #expect(error == .databaseIsNewer(file: "0003_step_3.sql"))
            #expect(error?.description.contains("0003_step_3.sql") == true)
        }
    }

    @Test func failingFileIsRolledBackAndNamed() async throws {
        try await withDatabase { cluster, database, configuration in
            var broken = Self.three
            broken[1] = Self.file(2, "CREATE TABLE native_sso.t2 (n int); SELECT nonsense;")
            let error = await refusal { () throws(MigratorError) in
                _ = try await Migrator(configuration, migrations: broken).up()
            }
            guard case .failed(let file, .server(SQLState("42703"), _, _)) = error else { return #expect(error == nil) }
            #expect(file == "0002_step_2.sql")
            let tables = try await cluster.psql(
                "SELECT to_regclass('native_sso.t1'), to_regclass('native_sso.t2')", database: database)
            #expect(tables == "native_sso.t1|\n")
            let resumed = try await Migrator(configuration, migrations: Self.three).up().map(\.version)
            #expect(resumed == [2, 3])
        }
    }

    static func repeatable(_ body: String) -> Migration {
        Migration(
            file: "answers.sql",
            sql: Array("CREATE OR REPLACE FUNCTION native_sso.answer() RETURNS text LANGUAGE sql AS '\(body)'".utf8))
    }

    @Test func repeatableFileIsAppliedAgainWhenItsTextChanges() async throws {
        try await withDatabase { cluster, database, configuration in
            let (first, second) = (Self.repeatable("SELECT 1::text"), Self.repeatable("SELECT 2::text"))
            let migrator = Migrator(configuration, migrations: Self.three + [first])
            let fresh = try await migrator.up().map(\.file)
            #expect(fresh.last == "answers.sql" && fresh.count == 4)
            let again = try await migrator.up()
            #expect(again.isEmpty)

            let later = Migrator(configuration, migrations: Self.three + [second])
            let stale = await refusal { () throws(MigratorError) in try await later.verify() }
            #expect(stale == .pending(files: ["answers.sql"]) && stale?.description.contains("answers.sql") == true)
            let applied = try await later.up().map(\.file)
            #expect(applied == ["answers.sql"])
            // A text that fails keeps the former one.
            let broken = Migrator(configuration, migrations: Self.three + [Self.repeatable("SELECT nonsense")])
            let error = await refusal { () throws(MigratorError) in _ = try await broken.up() }
            guard case .failed("answers.sql", .server(SQLState("42703"), _, _)) = error else {
                return #expect(error == nil)
            }
            let answer = try await cluster.psql("SELECT native_sso.answer()", database: database)
            #expect(answer == "2\n")

            let older = await refusal { () throws(MigratorError) in _ = try await migrator.up() }
            #expect(older == .databaseIsNewer(file: "answers.sql"))
            try await later.verify()
        }
    }

    /// The migrator creates a changed type again, with the functions that use it.
    @Test func typeIsMadeAgainOnlyWhenItsShapeChanges() async throws {
        try await withDatabase { cluster, database, configuration in
            _ = try await Migrator(configuration).up()
            func make(_ attributes: String) async throws -> String {
                try await cluster.psql(
                    """
                    SET search_path = native_sso; SELECT make_type('t', '\(attributes)');
                    SELECT 't'::regtype::oid
                    """, database: database)
            }
            let first = try await make("a integer")
            let same = try await make("a integer")
            let changed = try await make("a integer, b text")
            #expect(first == same && first != changed)
        }
    }

    @Test func ofManyAtOnceExactlyOneAppliesEachFile() async throws {
        try await withDatabase { _, _, configuration in
            let files = Self.three + [Self.repeatable("SELECT 1::text")]
            let applied = try await withThrowingTaskGroup(of: [String].self) { group in
                for _ in 0..<4 {
                    group.addTask { try await Migrator(configuration, migrations: files).up().map(\.file) }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(applied.sorted() == files.map(\.file))
        }
    }

    @Test func aWaitForAnotherMigratorEndsWithAnError() async throws {
        try await withDatabase { cluster, database, configuration in
            let holder = ConnectionPool(configuration)
            try await holder.waitUntilConnected(within: .seconds(10))
            try await holder.withTransaction { transaction throws(PostgresError) in
                _ = try transaction.query(Statement("SELECT pg_advisory_lock(7017280452245743464)"))
            }
            let impatient = Migrator(configuration, migrations: Self.three, patience: .milliseconds(200))
            let error = await refusal { () throws(MigratorError) in _ = try await impatient.up() }
            #expect(error == .anotherIsAtWork)
            await holder.shutdown()
        }
    }

    @Test func terminatedBackendLeavesWholeFilesOnly() async throws {
        try await withDatabase { cluster, database, configuration in
            let gated = try await Gated(configuration)
            let running = Task { await refusal { () throws(MigratorError) in _ = try await gated.migrator.up() } }
            try await gated.untilBlocked()
            try await cluster.psql(
                "SELECT pg_terminate_backend(pid) FROM (\(Gated.blocked.text)) AS blocked", database: database)
            let error = await running.value
            #expect(error == .failed(file: "0002_step_2.sql", .unavailable(.connectionLost)))
            try await gated.open()
            let resumed = try await gated.migrator.up().map(\.version)
            #expect(resumed == [2, 3])
        }
    }

    @Test func killedMigratorLeavesWholeFilesOnly() async throws {
        try await withDatabase { cluster, database, configuration in
            let gated = try await Gated(configuration)
            let (uri, password) = (cluster.connectionURI(database: database), cluster.password)
            await #expect(processExitsWith: .signal(SIGKILL)) { [uri = uri as String, password = password as String] in
                let configuration = try PostgresConfiguration(uri: uri, password: PostgresPassword(password))
                let migrator = Migrator(configuration, migrations: Gated.files)
                let running = Task { _ = try await migrator.up() }
                try await Gated.untilBlocked(in: ConnectionPool(configuration))
                kill(getpid(), SIGKILL)
                try await running.value
            }
            let before = try await cluster.psql(
                "SELECT max(version), to_regclass('native_sso.half') FROM native_sso.schema_migration",
                database: database)
            #expect(before == "1|\n")
            try await gated.open()
            let resumed = try await gated.migrator.up().map(\.version)
            #expect(resumed == [2, 3])
        }
    }

    /// Three files. The second waits in its middle while the gate is closed.
    private struct Gated {
        static let files = [
            file(1, "CREATE TABLE native_sso.t1 (n int)"),
            file(
                2,
                """
                CREATE TABLE native_sso.half (n int);
                SET LOCAL lock_timeout = 0;
                SELECT pg_advisory_xact_lock_shared(7);
                CREATE TABLE native_sso.t2 (n int);
                """),
            file(3, "CREATE TABLE native_sso.t3 (n int)"),
        ]

        let migrator: Migrator
        private let pool: ConnectionPool

        init(_ configuration: PostgresConfiguration) async throws {
            var configuration = configuration
            configuration.poolSize = 1
            migrator = Migrator(configuration, migrations: Self.files)
            pool = ConnectionPool(configuration)
            try await pool.waitUntilConnected(within: .seconds(10))
            _ = try await pool.query(Statement("SELECT pg_advisory_lock(7)"))
        }

        func open() async throws { _ = try await pool.query(Statement("SELECT pg_advisory_unlock(7)")) }

        func untilBlocked() async throws { try await Self.untilBlocked(in: pool) }

        static func untilBlocked(in pool: ConnectionPool) async throws {
            try await pool.waitUntilConnected(within: .seconds(10))
            while try await pool.query(blocked).isEmpty {}
        }

        /// `pg_locks` shows those of other databases too.
        static let blocked = Statement(
            """
            SELECT pid FROM pg_locks JOIN pg_database AS here ON here.oid = database
            WHERE datname = current_database() AND locktype = 'advisory' AND NOT granted
            """)
    }
}
