/// Calls from many tasks, gathered into few transactions: while the server commits one batch the next one gathers, so the
/// more calls there are at once, the less each costs. For short statements that lock a row or two.
///
/// A lane is a thread with one connection. It takes all that is queued, sends it as one transaction, and waits; a call that
/// comes alone goes alone and at once. As long as one lane keeps up, it does it all: a call that comes meanwhile goes with its
/// next batch. A second lane joins when so much waits that it fills a batch, and when the first one's batch takes longer than
/// ``LaneConfiguration/patience``, so that a connection that hangs stops nobody but those whom it carries.
///
/// Callers share a transaction without noticing: no row is theirs before its commit, and if one of them makes it fail, the
/// others run again without that one. One that meets a locked row waits for it on a connection aside, so that nobody waits
/// with it. Statements must therefore not depend on having a transaction of their own: `now()` is the same for all in a batch,
/// a lock is held until all have run.
///
/// Two calls for the same row at the same time are not brought together: in one batch they run one after the other; in
/// two, the second batch waits for the first one's commit, which is what it would do if it were another broker's.
///
/// A call is answered within its deadline, whatever the server does. A write that was sent is never cancelled: a caller
/// that is cancelled stops waiting only while its call is still queued. The lanes connect by themselves, in the background,
/// for as long as they live.
public final class BatchingLanes: StatementExecutor {
    private let core: LaneCore

    /// - Parameters:
    ///   - history: What is known of the database; shared by all that connect to the same one.
    ///   - onEvent: Told of connections that come and go, on the lanes' threads. Must not block.
    public init(
        _ configuration: PostgresConfiguration, _ lanes: LaneConfiguration = LaneConfiguration(),
        history: DatabaseHistory = DatabaseHistory(),
        onEvent: @escaping @Sendable (ConnectionEvent) -> Void = { _ in }
    ) {
        core = LaneCore(configuration, lanes, history: history, onEvent: onEvent)
        core.start()
    }

    deinit {
        core.close()
        core.aside.close()
    }

    public var statistics: LaneStatistics { core.statistics }

    /// Waits until a lane has a connection, and its server answers.
    public func waitUntilConnected(within limit: Duration) async throws(PostgresError) {
        _ = try await run(Self.probe, [], .none, queueWait: limit, limit: limit + core.configuration.callDeadline)
    }

    private static let probe = Statement("SELECT")

    public func query(_ statement: Statement, _ parameters: [PostgresValue]) async throws(PostgresError) -> [Row] {
        try await query(statement, parameters, locking: .none)
    }

    /// Runs one statement, in a transaction with whatever others are there. 40001 and 40P01 are tried again, three times at
    /// most, within the deadline.
    public func query(
        _ statement: Statement, _ parameters: [PostgresValue], locking row: RowKey
    ) async throws(PostgresError) -> [Row] {
        let configuration = core.configuration
        return try await run(
            statement, parameters, row, queueWait: configuration.queueWait, limit: configuration.callDeadline)
    }

    /// Takes no more calls, answers those it has, and closes the connections.
    public func shutdown() async {
        core.close()
        await withCheckedContinuation { core.whenEnded($0) }
        core.aside.close()
        await withCheckedContinuation { core.aside.whenEnded($0) }
    }

    private func run(
        _ statement: Statement, _ parameters: [PostgresValue], _ row: RowKey, queueWait: Duration, limit: Duration
    ) async throws(PostgresError) -> [Row] {
        guard !Task.isCancelled else { throw .unavailable(.cancelledWhileQueued) }
        let call = LaneCall(
            statement, try EncodedParameters(parameters), row: row, queueWait: queueWait, limit: limit)
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { (caller: LaneCall.Caller) in
                call.expect(caller)
                core.submit(call)
            }
        } onCancel: {
            core.withdraw(call)
        }
        return try result.get()
    }
}
