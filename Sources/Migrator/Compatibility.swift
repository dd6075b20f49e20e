public import Migrations
public import PostgresClient

extension Migrator {
    /// Whether the database fits this program: one cheap read, for the service's readiness. Needs no more than SELECT on
    /// `schema_migration`.
    ///
    /// A database that is newer is reported, not judged: during an upgrade the older release still serves.
    /// - Returns: `nil` when every step is applied and unchanged.
    public static func incompatibility(
        of database: some StatementExecutor, with migrations: [Migration] = Migrations.all
    ) async throws(PostgresError) -> MigratorError? {
        let history: SchemaHistory
        do throws(PostgresError) {
            history = try SchemaHistory(try await database.query(SchemaHistory.statement, []))
        } catch .server(let state, _, _) where state.code == "42P01" || state.code == "3F000" {
            return .pending(database: 0, binary: migrations.last?.version ?? 0)  // never migrated
        }
        do throws(MigratorError) {
            guard let last = try history.pending(of: migrations).last else { return nil }
            return .pending(database: history.version, binary: last.version)
        } catch {
            return error
        }
    }
}
