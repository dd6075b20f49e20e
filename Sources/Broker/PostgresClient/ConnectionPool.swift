import Synchronization

/// Connections to one database, each on a thread of its own, and a bounded queue before them.
///
/// A call is answered within its deadline, whatever the server does. A write that was sent is never cancelled: a caller
/// that is cancelled stops waiting only while its call is still queued. The pool connects by itself, in the background,
/// for as long as it lives.
public final class ConnectionPool: StatementExecutor {
    let core: PoolCore
    private let lastID = Atomic<UInt64>(0)

    /// - Parameters:
    ///   - history: What is known of the database; shared by all that connect to the same one.
    ///   - onEvent: Told of connections that come and go, on the pool's threads. Must not block.
    public init(
        _ configuration: PostgresConfiguration, history: DatabaseHistory = DatabaseHistory(),
        onEvent: @escaping @Sendable (ConnectionEvent) -> Void = { _ in }
    ) {
        core = PoolCore(configuration, history: history, onEvent: onEvent)
        core.start()
    }

    deinit { core.close() }

    public var statistics: PoolStatistics { core.statistics }

    /// Waits until a connection is there.
    public func waitUntilConnected(within limit: Duration) async throws(PostgresError) {
        try await run(queueWait: limit) { _ throws(PostgresError) in }
    }

    /// Runs one statement in a transaction of its own. 40001 and 40P01 are tried again, three times at most, within
    /// the deadline.
    public func query(_ statement: Statement, _ parameters: [PostgresValue]) async throws(PostgresError) -> [Row] {
        let deadline = MonotonicTime.after(core.configuration.callDeadline)
        let parameters = try EncodedParameters(parameters)
        return try await run(queueWait: core.configuration.queueWait) { connection throws(PostgresError) in
            try connection.executeRetrying(statement, parameters, deadline: deadline)
        }
    }

    /// Runs `body` in a READ COMMITTED transaction: committed when it returns, rolled back when it throws.
    ///
    /// `outcomeUnknown` comes from COMMIT alone. Nothing is tried again.
    /// - Parameter limit: For the whole of it; the deadline of a call where none is given.
    public func withTransaction<Value: Sendable>(
        deadline limit: Duration? = nil,
        _ body: @escaping @Sendable (borrowing Transaction) throws(PostgresError) -> Value
    ) async throws(PostgresError) -> Value {
        let deadline = MonotonicTime.after(limit ?? core.configuration.callDeadline)
        let timeout = limit ?? core.configuration.statementTimeout
        return try await run(queueWait: core.configuration.queueWait) { connection throws(PostgresError) in
            try connection.transaction(deadline: deadline, timeout: timeout, body)
        }
    }

    /// Takes no more calls, answers those it has, and closes the connections.
    public func shutdown() async {
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
