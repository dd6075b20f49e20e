package import Migrations
package import PostgresClient

/// Brings a database's schema up to date, with one transaction per file. First it applies the missing numbered files,
/// then the repeatable files whose text changed.
///
/// If it is killed, every file is either applied completely or not at all, and it can run again. If several run at
/// once, only one applies each file.
package struct Migrator: Sendable {
    /// The time limit per file.
    private static let limit: Duration = .seconds(3600)

    private let configuration: PostgresConfiguration
    let migrations: [Migration]
    private let patience: Duration
    let lockTimeout: Duration
    private let onEvent: @Sendable (ConnectionEvent) -> Void

    /// - Parameters:
    ///   - configuration: A role that may create roles and, in this database, a schema. The migrator replaces the
    ///     pool size and the timeouts.
    ///   - patience: The maximum wait for another migrator.
    ///   - lockTimeout: The longest wait for a lock. A file that locks tables in use has twice this time in all: others
    ///     wait for the tables from then on until its transaction ends.
    ///   - onEvent: Receives connection events on the connection's thread. Must not block.
    package init(
        _ configuration: PostgresConfiguration, migrations: [Migration] = Migrations.all,
        patience: Duration = .seconds(60), lockTimeout: Duration = .seconds(5),
        onEvent: @escaping @Sendable (ConnectionEvent) -> Void = { _ in }
    ) {
        var configuration = configuration
        configuration.applicationName = "native-sso migrate"
        configuration.poolSize = 1
        configuration.queueWait = .seconds(10)
        configuration.callDeadline = .seconds(30)
        // A migration that waits for a lock blocks all later requests for it. Then it gives up; run it again.
        configuration.lockTimeout = lockTimeout
        configuration.statementTimeout = Self.limit
        configuration.idleInTransactionTimeout = .seconds(60)
        self.configuration = configuration
        self.migrations = migrations
        self.patience = patience
        self.lockTimeout = lockTimeout
        self.onEvent = onEvent
    }

    /// Applies the missing files in order. Returns the files that this run applied.
    /// - Parameter version: The last numbered file to apply. Brokers serve only once all files are applied.
    package func up(to version: Int? = nil) async throws(MigratorError) -> [Migration] {
        try await withPool { pool throws(MigratorError) in
            let missing = try chosen(try await missing(pool).pending, to: version)
            var applied: [Migration] = []
            for migration in missing where try await apply(migration, pool) { applied.append(migration) }
            return applied
        }
    }

    package func status() async throws(MigratorError) -> (applied: [AppliedMigration], pending: [Migration]) {
        try await withPool { pool throws(MigratorError) in
            let history = try await history(pool)
            return (history.applied, try history.pending(of: migrations))
        }
    }

    /// Throws unless every file is applied and unchanged.
    package func verify() async throws(MigratorError) {
        let pending = try await status().pending
        guard pending.isEmpty else { throw .pending(files: pending.map(\.file)) }
    }

    // MARK: Steps

    /// The files to apply, unless that would skip a release.
    func missing(_ pool: ConnectionPool) async throws(MigratorError) -> (pending: [Migration], isNew: Bool) {
        // The schema first: the record of a migrator that fills the schema meanwhile is then seen.
        let isInUse = try await isSchemaInUse(pool)
        let history = try await history(pool)
        guard !isInUse || !history.applied.isEmpty else { throw .foreignSchema }
        let pending = try history.pending(of: migrations)
        try history.refuseSkip(by: pending)
        return (pending, history.applied.isEmpty)
    }

    /// Those of the pending files up to `version`. The functions of the repeatable files need the last numbered one.
    func chosen(_ pending: [Migration], to version: Int?) throws(MigratorError) -> [Migration] {
        guard let version else { return pending }
        let last = migrations.compactMap(\.version).max() ?? 0
        guard (1...last).contains(version) else { throw .noSuchVersion(version, last: last) }
        guard version < last else { return pending }
        return pending.filter { ($0.version ?? .max) <= version }
    }

    private func history(_ pool: ConnectionPool) async throws(MigratorError) -> SchemaHistory {
        do throws(PostgresError) {
            return try await pool.withTransaction { transaction throws(PostgresError) in
                try Self.history(transaction)
            }
        } catch .server(let state, _, _) where state.code == "42703" || state.code == "42501" {
            // The table has other columns, or another owner.
            throw .foreignSchema
        } catch {
            throw .database(error)
        }
    }

    private static func history(_ transaction: borrowing Transaction) throws(PostgresError) -> SchemaHistory {
        let found = try transaction.query(MigratorSQL.findTable)
        guard let row = found.first, try row.bool(0) else { return try SchemaHistory([]) }
        return try SchemaHistory(try transaction.query(SchemaHistory.statement))
    }

    /// Whether a schema of this name holds anything but the record of migrations.
    private func isSchemaInUse(_ pool: ConnectionPool) async throws(MigratorError) -> Bool {
        do throws(PostgresError) {
            return try await pool.query(MigratorSQL.findForeign).first?.bool(0) ?? false
        } catch {
            throw .database(error)
        }
    }

    private enum Step {
        case applied
        case wasApplied
        case busy
        case refused(MigratorError)
    }

    /// False if another migrator has applied it in the meantime.
    private func apply(_ migration: Migration, _ pool: ConnectionPool) async throws(MigratorError) -> Bool {
        let deadline = ContinuousClock.now + patience
        let limit = migration.locks != nil ? min(Self.limit, lockTimeout * 2) : Self.limit
        while true {
            let step: Step
            do throws(PostgresError) {
                step = try await pool.withTransaction(deadline: limit) { transaction throws(PostgresError) in
                    try self.step(migration, transaction)
                }
            } catch {
                throw .failed(file: migration.file, error)
            }
            switch step {
            case .applied: return true
            case .wasApplied: return false
            case .refused(let error): throw error
            case .busy:
                guard ContinuousClock.now < deadline else { throw .anotherIsAtWork }
                try? await Task.sleep(for: .milliseconds(Int.random(in: 50...150)))
            }
        }
    }

    private func step(_ migration: Migration, _ transaction: borrowing Transaction) throws(PostgresError) -> Step {
        // Never the blocking form: a waiter would stall another session's CREATE INDEX CONCURRENTLY.
        guard let lock = try transaction.query(MigratorSQL.tryLock).first, try lock.bool(0) else { return .busy }
        let history = try Self.history(transaction)
        do throws(MigratorError) {
            guard try history.pending(of: migrations).contains(where: { $0.file == migration.file }) else {
                return .wasApplied
            }
        } catch {
            return .refused(error)
        }
        if history.applied.isEmpty { try transaction.executeScript(MigratorSQL.createTable) }
        try transaction.executeScript(migration.sql)
        _ = try transaction.query(
            MigratorSQL.record,
            [
                migration.version.map { .int32(Int32(clamping: $0)) } ?? .null, .text(migration.name),
                .bytes(migration.digest),
            ])
        return .applied
    }

    func withPool<Value>(
        _ body: (ConnectionPool) async throws(MigratorError) -> Value
    ) async throws(MigratorError) -> Value {
        let pool = ConnectionPool(configuration, onEvent: onEvent)
        do throws(MigratorError) {
            let value = try await body(pool)
            await pool.shutdown()
            return value
        } catch {
            await pool.shutdown()
            throw error
        }
    }
}

extension Migrator {
    /// Whether the database matches this program. One cheap read for the readiness check; needs only SELECT on
    /// `schema_migration`.
    ///
    /// The caller decides about a newer database: during an upgrade the older release still serves.
    /// - Returns: `nil` if every file is applied and unchanged.
    package static func incompatibility(
        of database: some StatementExecutor, with migrations: [Migration] = Migrations.all
    ) async throws(PostgresError) -> MigratorError? {
        let history: SchemaHistory
        do throws(PostgresError) {
            history = try SchemaHistory(try await database.query(SchemaHistory.statement, []))
        } catch .server(let state, _, _) where state.code == "42P01" || state.code == "3F000" {
            return .pending(files: migrations.map(\.file))  // never migrated
        }
        do throws(MigratorError) {
            let pending = try history.pending(of: migrations)
            return pending.isEmpty ? nil : .pending(files: pending.map(\.file))
        } catch {
            return error
        }
    }
}

enum MigratorSQL {
    /// A scan and not `to_regclass`, which answers from the session's cache: that may not know yet what another migrator
    /// committed just before it gave up the lock.
    static let findTable = Statement(
        """
        SELECT EXISTS (
            SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
            WHERE n.nspname = 'native_sso' AND c.relname = 'schema_migration')
        """)

    /// Whether the schema holds anything but the migrator's own table.
    static let findForeign = Statement(
        """
        SELECT EXISTS (
            SELECT FROM pg_catalog.pg_namespace n WHERE n.nspname = 'native_sso' AND (
                EXISTS (SELECT FROM pg_catalog.pg_class c WHERE c.relnamespace = n.oid
                    AND c.relkind NOT IN ('i', 'I', 'S') AND c.relname <> 'schema_migration')
                OR EXISTS (SELECT FROM pg_catalog.pg_proc p WHERE p.pronamespace = n.oid)))
        """)

    /// The tables that others may be using.
    static let tables = Statement(
        """
        SELECT c.relname::text FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname = 'native_sso' AND c.relkind IN ('r', 'p')
        """)

    /// The locks of this session for which others wait.
    static let locks = Statement(
        """
        SELECT DISTINCT c.relname || ' ' || l.mode FROM pg_catalog.pg_locks l
        JOIN pg_catalog.pg_class c ON c.oid = l.relation JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
        WHERE l.pid = pg_backend_pid() AND l.granted AND n.nspname = 'native_sso' AND c.relkind IN ('r', 'p')
            AND l.mode IN ('AccessExclusiveLock', 'ExclusiveLock', 'ShareRowExclusiveLock', 'ShareLock')
        """)

    /// The lock lasts until the transaction ends. The number is arbitrary and unique to this program.
    static let tryLock = Statement("SELECT pg_try_advisory_xact_lock(7017280452245743464)")

    /// $1 version or NULL, $2 name, $3 SHA-256 of the file.
    static let record = Statement(
        """
        INSERT INTO native_sso.schema_migration (version, name, sha256, applied_at, applied_by)
        VALUES ($1, $2, $3, now(), session_user)
        """)

    static let createTable = Array(
        """
        CREATE SCHEMA IF NOT EXISTS native_sso;
        CREATE TABLE IF NOT EXISTS native_sso.schema_migration (
            ordinal integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            version integer UNIQUE CHECK (version > 0),
            name text COLLATE "C" NOT NULL,
            sha256 bytea NOT NULL CHECK (octet_length(sha256) = 32),
            applied_at timestamptz NOT NULL,
            applied_by text COLLATE "C" NOT NULL,
            UNIQUE (name, sha256)
        );
        """.utf8)
}
