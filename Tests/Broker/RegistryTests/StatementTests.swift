import PostgresClient
import Testing

@testable import Registry

@Suite("Statements", .serialized)
struct StatementTests {
    /// A renamed column fails here, not in production.
    @Test("Each statement can be prepared on the migrated schema")
    func prepares() async throws {
        try await TestDatabase.withFixture { database in
            for statement in RegistryStatements.all {
                do throws(PostgresError) {
                    // PostgreSQL refuses a call without parameters only after it has parsed the statement.
                    _ = try await database.superuser.query(statement, [])
                } catch {
                    guard case .server(let state, let message, _) = error else { throw error }
                    #expect(state.code == "08P01", "\(message): \(statement.text)")
                }
            }
        }
    }
}
