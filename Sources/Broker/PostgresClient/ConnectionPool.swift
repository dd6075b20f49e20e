import Synchronization

/// A pool of connections to one database, each on its own thread, with a bounded queue.
///
/// Every call ends within its deadline, even if the server hangs. The pool never cancels a write that it has sent:
/// cancelling the caller's task removes only a queued call. The pool reconnects in the background.
package final class ConnectionPool: StatementExecutor {
    let core: LaneCore<Job>
    private let lastID = Atomic<UInt64>(0)

    /// - Parameters:
    ///   - history: Refuses an earlier state of the database; `nil`: none is refused. Share it between all clients of the
    ///     same database.
    ///   - onEvent: Receives connection events on the pool's threads. Must not block.
    package init(
        _ configuration: PostgresConfiguration, history: DatabaseHistory? = nil,
        onEvent: @escaping @Sendable (ConnectionEvent) -> Void = { _ in }
    ) {
        // At most four calls per connection wait.
        let size = max(configuration.poolSize, 1)
        core = LaneCore(configuration, .pool(of: size, queueLimit: 4 * size), history: history, onEvent: onEvent)
        core.start()
    }

    deinit { core.close() }

    package var statistics: LaneStatistics { core.statistics }

    package func waitUntilConnected(within limit: Duration) async throws(PostgresError) {
        try await run(queueWait: limit) { _ throws(PostgresError) in }
    }

    /// Runs one statement in its own transaction. Retries 40001 and 40P01 at most three times, within the deadline.
    package func query(
        _ statement: Statement, _ parameters: EncodedParameters, locking row: RowKey
    ) async throws(PostgresError) -> [Row] {
        let deadline = MonotonicTime.after(core.configuration.callDeadline)
        let parameters = try parameters.checked()
        return try await run(queueWait: core.configuration.queueWait) { connection throws(PostgresError) in
            try connection.executeRetrying(statement, parameters, deadline: deadline)
        }
    }

    /// Runs `body` in a READ COMMITTED transaction: commits when it returns, rolls back when it throws.
    ///
    /// Only COMMIT throws `outcomeUnknown`. Nothing is retried.
    /// - Parameter limit: For the whole transaction; default: the call deadline of the configuration.
    package func withTransaction<Value: Sendable>(
        deadline limit: Duration? = nil,
        _ body: @escaping @Sendable (borrowing Transaction) throws(PostgresError) -> Value
    ) async throws(PostgresError) -> Value {
        let deadline = MonotonicTime.after(limit ?? core.configuration.callDeadline)
        let timeout = limit ?? core.configuration.statementTimeout
        return try await run(queueWait: core.configuration.queueWait) { connection throws(PostgresError) in
            try connection.transaction(deadline: deadline, timeout: timeout, body)
        }
    }

    /// Refuses new calls, finishes accepted ones, and closes the connections.
    package func shutdown() async { await core.shutdown() }

    private func run<Value: Sendable>(
        queueWait: Duration, _ work: @escaping @Sendable (Connection) throws(PostgresError) -> Value
    ) async throws(PostgresError) -> Value {
        guard !Task.isCancelled else { throw .unavailable(.cancelledWhileQueued) }
        let id = lastID.wrappingAdd(1, ordering: .relaxed).newValue
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { (caller: CheckedContinuation<Result<Value, PostgresError>, Never>) in
                core.submit(
                    Job(id: id, expires: .after(queueWait)) { connection in
                        caller.resume(returning: Result { () throws(PostgresError) in try work(try connection.get()) })
                    })
            }
        } onCancel: {
            core.withdraw { $0.id == id }
        }
        return try result.get()
    }
}

/// Work on a connection of a pool.
final class Job: QueuedCall {
    /// Jobs share one queue.
    private static let work = Statement("")
    var statement: Statement { Self.work }
    let id: UInt64
    let expires: MonotonicTime
    /// Does the work on the connection's thread and answers the caller, or only passes the error.
    private let finish: @Sendable (Result<Connection, PostgresError>) -> Void

    init(
        id: UInt64, expires: MonotonicTime, _ finish: @escaping @Sendable (Result<Connection, PostgresError>) -> Void
    ) {
        self.id = id
        self.expires = expires
        self.finish = finish
    }

    func run(on connection: Connection) { finish(.success(connection)) }
    func fail(_ error: PostgresError) { finish(.failure(error)) }
}

extension LaneCore<Job> {
    func start() {
        start { jobs, connection in for job in jobs { job.run(on: connection) } }
    }
}
