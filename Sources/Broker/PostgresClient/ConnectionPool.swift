import Synchronization

/// A pool of connections to one database, each on its own thread, with a bounded queue.
///
/// Every call ends within its deadline, even if the server hangs. The pool never cancels a write that it has sent:
/// cancelling the caller's task removes only a queued call. The pool reconnects in the background.
package final class ConnectionPool: StatementExecutor {
    let core: PoolCore
    private let lastID = Atomic<UInt64>(0)

    /// - Parameters:
    ///   - history: The last known position of the database. Share it between all clients of the same database.
    ///   - onEvent: Receives connection events on the pool's threads. Must not block.
    package init(
        _ configuration: PostgresConfiguration, history: DatabaseHistory = DatabaseHistory(),
        onEvent: @escaping @Sendable (ConnectionEvent) -> Void = { _ in }
    ) {
        core = PoolCore(configuration, history: history, onEvent: onEvent)
        core.start()
    }

    deinit { core.close() }

    package var statistics: PoolStatistics { core.statistics }

    package func waitUntilConnected(within limit: Duration) async throws(PostgresError) {
        try await run(queueWait: limit) { _ throws(PostgresError) in }
    }

    /// Runs one statement in a transaction of its own. 40001 and 40P01 are tried again, three times at most, within
    /// the deadline.
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
    package func shutdown() async {
        core.close()
        await withCheckedContinuation { core.whenEnded($0) }
    }

    private func run<Value: Sendable>(
        queueWait: Duration, _ work: @escaping @Sendable (Connection) throws(PostgresError) -> Value
    ) async throws(PostgresError) -> Value {
        guard !Task.isCancelled else { throw .unavailable(.cancelledWhileQueued) }
        let id = lastID.wrappingAdd(1, ordering: .relaxed).newValue
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { (caller: CheckedContinuation<Result<Value, PostgresError>, Never>) in
                core.submit(
                    Job(
                        id: id, expires: .after(queueWait),
                        run: { connection in
                            do throws(PostgresError) {
                                caller.resume(returning: .success(try work(connection)))
                            } catch {
                                caller.resume(returning: .failure(error))
                            }
                        },
                        fail: { caller.resume(returning: .failure($0)) }))
            }
        } onCancel: {
            core.withdraw(id)
        }
        return try result.get()
    }
}
