import PostgresClient
import PrivateCluster
import Testing

/// The two database clients. The same rules hold for a call on each of them.
enum Engine: String, CaseIterable, CustomTestStringConvertible {
    case pool, lanes

    var testDescription: String { rawValue }

    func start(
        _ configuration: PostgresConfiguration, connections: Int = 1, history: DatabaseHistory? = nil,
        onEvent: @escaping @Sendable (ConnectionEvent) -> Void = { _ in }
    ) -> any TestedExecutor {
        switch self {
        case .pool:
            var configuration = configuration
            configuration.poolSize = connections
            return ConnectionPool(configuration, history: history, onEvent: onEvent)
        case .lanes:
            var lanes = LaneConfiguration()
            lanes.lanes = connections
            return BatchingLanes(configuration, lanes, history: history, onEvent: onEvent)
        }
    }

    /// Runs `body` with a client of a new database in the shared cluster. No test reaches the default limits.
    func withExecutor(
        connections: Int = 1, _ configure: (inout PostgresConfiguration) -> Void = { _ in },
        _ body: (_ executor: any TestedExecutor, _ database: String) async throws -> Void
    ) async throws {
        let cluster = try await PrivateCluster.shared
        try await cluster.withDatabase { database in
            var configuration = try cluster.configuration(database: database)
            patient(&configuration)
            configure(&configuration)
            let executor = start(configuration, connections: connections)
            try await ending {
                try await executor.waitUntilConnected(within: .seconds(20))
                try await body(executor, database)
            } with: {
                await executor.shutdown()
            }
        }
    }
}

protocol TestedExecutor: StatementExecutor {
    var connectsTotal: Int { get }
    func waitUntilConnected(within limit: Duration) async throws(PostgresError)
    func shutdown() async
}

extension ConnectionPool: TestedExecutor {
    var connectsTotal: Int { statistics.connections.connectsTotal }
}

extension BatchingLanes: TestedExecutor {
    var connectsTotal: Int { statistics.connections.connectsTotal }
}

extension PostgresError {
    /// The SQLSTATE, if the server refused the call.
    var state: SQLState? {
        if case .server(let state, _, _) = self { state } else { nil }
    }
}
