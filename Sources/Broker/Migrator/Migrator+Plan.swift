package import Migrations
import PostgresClient

/// What a pending file did in a trial that was taken back.
package struct MigrationTrial: Sendable {
    package let migration: Migration
    /// How long the file ran. Until its transaction ends, others wait for what it locks.
    package let duration: Duration
    /// Locks on tables that were there before, as `table mode`, sorted. Plain reads and writes by others wait for
    /// `AccessExclusiveLock`, writes for the other modes.
    package let locks: [String]
}

extension Migrator {
    /// The files that ``up(to:)`` would apply. Changes nothing and locks nothing.
    package func plan(to version: Int? = nil) async throws(MigratorError) -> [Migration] {
        try await withPool { pool throws(MigratorError) in
            try chosen(try await missing(pool).pending, to: version)
        }
    }

    /// Applies the pending files in one transaction and rolls it back: what each locks, and for how long.
    ///
    /// The trial takes the same locks as ``up(to:)`` does. A statement that runs for longer than a file that locks tables
    /// may take fails the trial.
    package func trial(to version: Int? = nil) async throws(MigratorError) -> [MigrationTrial] {
        try await withPool { pool throws(MigratorError) in
            let (all, isNew) = try await missing(pool)
            let pending = try chosen(all, to: version)
            do throws(PostgresError) {
                return try await pool.withTransaction(deadline: .seconds(60)) { transaction throws(PostgresError) in
                    if isNew { try transaction.executeScript(MigratorSQL.createTable) }
                    return try trials(of: pending, transaction)
                }
            } catch {
                throw .failed(file: "the trial of \(pending.map(\.file).joined(separator: ", "))", error)
            }
        }
    }

    private func trials(
        of pending: [Migration], _ transaction: borrowing Transaction
    ) throws(PostgresError) -> [MigrationTrial] {
        let limit = lockTimeout * 2 / .milliseconds(1)
        try transaction.executeScript(Array("SET LOCAL statement_timeout = \(Int64(limit))".utf8))
        let tables = Set(try Self.texts(transaction, MigratorSQL.tables))
        var (trials, known): ([MigrationTrial], Set<String>) = ([], [])
        for migration in pending {
            let start = ContinuousClock.now
            try transaction.executeScript(migration.sql)
            let duration = ContinuousClock.now - start
            let held = Set(try Self.texts(transaction, MigratorSQL.locks))
            let added = held.subtracting(known).filter { lock in tables.contains { lock.hasPrefix("\($0) ") } }
            trials.append(MigrationTrial(migration: migration, duration: duration, locks: added.sorted()))
            known = held
        }
        // The transaction that follows is empty.
        try transaction.executeScript(Array("ROLLBACK AND CHAIN".utf8))
        return trials
    }

    private static func texts(
        _ transaction: borrowing Transaction, _ statement: Statement
    ) throws(PostgresError) -> [String] {
        try transaction.query(statement).map { row throws(PostgresError) in try row.text(0) }
    }
}
