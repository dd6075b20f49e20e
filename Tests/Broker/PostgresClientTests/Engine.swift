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
            lanes.batchLockTimeout = configuration.lockTimeout
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
    var statistics: LaneStatistics { get }
    func waitUntilConnected(within limit: Duration) async throws(PostgresError)
    func shutdown() async
}

extension ConnectionPool: TestedExecutor {}
extension BatchingLanes: TestedExecutor {}

/// A call that a test has started.
typealias PendingCall = Task<Result<[Row], PostgresError>, Never>

extension TestedExecutor {
    var connectsTotal: Int { statistics.connections.connectsTotal }

    /// Makes a call and returns when it is in the queue. Use it only while no connection can take the call.
    func queue(
        _ statement: Statement, _ parameters: [PostgresValue] = [], locking row: RowKey = .none
    ) async -> PendingCall {
        let depth = statistics.queueDepth
        let call = start(statement, parameters, locking: row)
        while statistics.queueDepth == depth { await Task.yield() }
        return call
    }

    /// Makes a call.
    func start(
        _ statement: Statement, _ parameters: [PostgresValue] = [], locking row: RowKey = .none
    ) -> PendingCall {
        Task {
            do throws(PostgresError) {
                return .success(try await query(statement, parameters, locking: row))
            } catch {
                return .failure(error)
            }
        }
    }
}

extension PostgresError {
    /// The SQLSTATE, if the server refused the call.
    var state: SQLState? {
        if case .server(let state, _, _) = self { state } else { nil }
    }
}
