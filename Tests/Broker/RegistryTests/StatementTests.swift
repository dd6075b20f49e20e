import PostgresClient
import Testing

@testable import Registry

@Suite("Statements", .serialized)
struct StatementTests {
    /// A renamed column fails here, not at night.
    @Test("Each can be prepared against the migrated schema")
    func prepares() async throws {
        try await TestDatabase.withFixture { database in
            for statement in RegistryStatements.all {
                do throws(PostgresError) {
                    // A statement that asks for parameters it does not get is refused only after it was understood.
                    _ = try await database.superuser.query(statement, [])
                } catch {
                    guard case .server(let state, let message, _) = error else { throw error }
                    #expect(state.code == "08P01", "\(message): \(statement.text)")
                }
            }
        }
    }
}
