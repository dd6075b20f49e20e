/// Batches concurrent calls into few transactions. While the server commits one batch, the next one fills, so the
/// cost per call falls under load. Use it for short statements that lock a row or two.
///
/// A lane is a thread with one connection. It sends all queued calls as one transaction and waits for the answer; a
/// single call leaves at once. A second lane starts when the queue fills a batch, or when a batch takes longer than
/// ``LaneConfiguration/patience``. A hung connection therefore delays only its own calls.
///
/// A call becomes visible only at commit. If one call fails the transaction, the others run again without it. A call
/// that meets a locked row waits on a separate connection (aside). Statements must not rely on a transaction of their
/// own: `now()` is the same for the whole batch, and locks last until all calls have run.
///
/// Two concurrent calls for the same row are not combined. In one batch they run in sequence; in two batches, the
/// second waits for the first commit, as it would for another broker's.
///
/// Every call ends within its deadline, even if the server hangs. The lanes never cancel a write that they have sent:
/// cancelling the caller's task removes only a queued call. The lanes reconnect in the background.
package final class BatchingLanes: StatementExecutor {
    private let core: LaneCore<LaneCall>
    /// One connection for calls that must wait for a lock or be retried.
    private let aside: LaneCore<Job>

    /// - Parameters:
    ///   - history: Refuses an earlier state of the database; `nil`: none is refused. Share it between all clients of the
    ///     same database.
    ///   - onEvent: Receives connection events on the lanes' threads. Must not block.
    package init(
        _ configuration: PostgresConfiguration, _ lanes: LaneConfiguration = LaneConfiguration(),
        history: DatabaseHistory? = nil,
        onEvent: @escaping @Sendable (ConnectionEvent) -> Void = { _ in }
    ) {
        var sessions = configuration
        sessions.lockTimeout = min(lanes.batchLockTimeout, configuration.lockTimeout)
        let core = LaneCore<LaneCall>(sessions, lanes, history: history, onEvent: onEvent)
        let aside = LaneCore<Job>(configuration, .pool(of: 1, queueLimit: 64), history: history, onEvent: onEvent)
        core.start { BatchRunner(core: core, aside: aside, connection: $1).run($0) }
        aside.start()
        (self.core, self.aside) = (core, aside)
    }

    deinit {
        core.close()
        aside.close()
    }

    package var statistics: LaneStatistics {
        var statistics = core.statistics
        statistics.shedTotal += aside.statistics.shedTotal
        return statistics
    }

    /// Waits until a lane is connected and its server answers.
    package func waitUntilConnected(within limit: Duration) async throws(PostgresError) {
        _ = try await run(
            Self.probe, EncodedParameters(), .none, queueWait: limit, limit: limit + core.configuration.callDeadline)
    }

    private static let probe = Statement("SELECT")

    /// Runs one statement, in one transaction with the other calls of its batch. Retries 40001 and 40P01 at most three
    /// times, within the deadline.
    package func query(
        _ statement: Statement, _ parameters: EncodedParameters, locking row: RowKey
    ) async throws(PostgresError) -> [Row] {
        let configuration = core.configuration
        return try await run(
            statement, parameters, row, queueWait: configuration.queueWait, limit: configuration.callDeadline)
    }

    /// Refuses new calls, finishes accepted ones, and closes the connections.
    package func shutdown() async {
        await core.shutdown()
        await aside.shutdown()
    }

    private func run(
        _ statement: Statement, _ parameters: EncodedParameters, _ row: RowKey, queueWait: Duration, limit: Duration
    ) async throws(PostgresError) -> [Row] {
        guard !Task.isCancelled else { throw .unavailable(.cancelledWhileQueued) }
        let call = LaneCall(
            statement, try parameters.checked(), row: row, queueWait: queueWait, deadline: .after(limit))
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { (caller: LaneCall.Caller) in
                call.expect(caller)
                core.submit(call)
            }
        } onCancel: {
            core.withdraw { $0 === call }
        }
        return try result.get()
    }
}
