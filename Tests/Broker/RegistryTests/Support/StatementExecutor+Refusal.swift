import PostgresClient

extension StatementExecutor {
    /// The SQLSTATE with which the server refuses a statement; `nil`: it allowed it.
    func refusal(of statement: Statement, _ parameters: [PostgresValue] = []) async throws -> SQLState? {
        do throws(PostgresError) {
            _ = try await query(statement, parameters)
            return nil
        } catch {
            guard case .server(let state, _, _) = error else { throw error }
            return state
        }
    }
}
