import PostgresClient

extension Configuration.Database {
    /// How to reach the database.
    func connection(pool: Int) throws(CommandFailure) -> PostgresConfiguration {
        do throws(PostgresConfigurationError) {
            var connection = try PostgresConfiguration(
                uri: url, password: password.map { PostgresPassword($0.exposed) })
            connection.poolSize = pool
            return connection
        } catch {
            throw .infrastructure(error.description)
        }
    }

    /// Lends a pool for the time of one command.
    func withPool<Value: Sendable>(
        _ body: (ConnectionPool) async throws(CommandFailure) -> Value
    ) async throws(CommandFailure) -> Value {
        var connection = try connection(pool: 1)
        // A person waits, who would rather wait a little longer than be told to try again.
        connection.callDeadline = .seconds(30)
        connection.statementTimeout = .seconds(60)
        connection.queueWait = .seconds(5)
        let trouble = ConnectionTrouble()
        let pool = ConnectionPool(connection) { trouble.note($0) }
        let result: Result<Value, CommandFailure>
        do throws(CommandFailure) {
            do throws(PostgresError) {
                try await pool.waitUntilConnected(within: .seconds(5))
            } catch {
                throw CommandFailure(error, connecting: trouble.message)
            }
            result = .success(try await body(pool))
        } catch {
            result = .failure(error)
        }
        await pool.shutdown()
        return try result.get()
    }
}
