public import Migrations
public import PostgresClient

extension Migrator {
    /// Whether the database fits this program: one cheap read, for the service's readiness. Needs no more than SELECT on
    /// `schema_migration`.
    ///
    /// A database that is newer is reported, not judged: during an upgrade the older release still serves.
    /// - Returns: `nil` when every file is applied and unchanged.
    public static func incompatibility(
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
