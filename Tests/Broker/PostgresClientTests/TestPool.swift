import PostgresClient
import PrivateCluster

/// Runs `body` with a pool on a new database in the shared cluster.
func withPool<Value>(
    size: Int = 4, _ configure: (inout PostgresConfiguration) -> Void = { _ in },
    _ body: (_ pool: ConnectionPool, _ database: String) async throws -> Value
) async throws -> Value {
    let cluster = try await PrivateCluster.shared
    return try await cluster.withDatabase { database in
        let pool = try await cluster.pool(database: database, size: size, configure)
        return try await ending {
            try await body(pool, database)
        } with: {
            await pool.shutdown()
        }
    }
}

extension PrivateCluster {
    nonisolated func configuration(
        database: String = superuser, user: String = superuser
    ) throws -> PostgresConfiguration {
        var configuration = try PostgresConfiguration(
            uri: connectionURI(database: database, user: user), password: PostgresPassword(password))
        // Long limits for a busy machine. Tests of a time limit set their own.
        configuration.connectTimeout = .seconds(20)
        configuration.warmUp = .zero
        configuration.queueWait = .seconds(10)
        configuration.callDeadline = .seconds(20)
        return configuration
    }

    /// A connected pool.
    nonisolated func pool(
        database: String = superuser, size: Int = 4, _ configure: (inout PostgresConfiguration) -> Void = { _ in }
    ) async throws -> ConnectionPool {
        var configuration = try configuration(database: database)
        configuration.poolSize = size
        configure(&configuration)
        let pool = ConnectionPool(configuration)
        try await pool.waitUntilConnected(within: .seconds(10))
        return pool
    }
}

/// The error of a call; `nil` if it succeeded.
func failure<Value>(of call: () async throws(PostgresError) -> Value) async -> PostgresError? {
    do throws(PostgresError) {
        _ = try await call()
        return nil
    } catch {
        return error
    }
}
