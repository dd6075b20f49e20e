/// How lanes form batches. ``PostgresConfiguration`` has the time limits of calls.
package struct LaneConfiguration: Sendable {
    /// Connections, each on its own thread. One lane works alone as long as it keeps up.
    package var lanes = 2
    /// After a batch has taken this long, another lane sends the queued calls. Before that, it does so only if they
    /// fill a batch: larger batches cost less per call.
    package var patience: Duration = .milliseconds(8)
    /// Maximum calls per transaction.
    package var maxBatch = 128
    /// Minimum calls of one statement in a batch for its ``Gathering``. Fewer calls cost less as single statements.
    package var gathersFrom = 4
    /// Maximum queued calls per statement. Each statement has its own queue, so a flood of one leaves room for the
    /// others.
    package var queueLimit = 2048
    /// The server's `lock_timeout` for a batch. It is short because one locked row delays the whole batch. A call
    /// that meets the lock runs again aside, with the `lockTimeout` of ``PostgresConfiguration``.
    package var batchLockTimeout: Duration = .milliseconds(100)

    package init() {}

    /// Lanes that run one call at a time.
    static func pool(of size: Int, queueLimit: Int) -> LaneConfiguration {
        var lanes = LaneConfiguration()
        (lanes.lanes, lanes.maxBatch, lanes.queueLimit) = (size, 1, queueLimit)
        return lanes
    }
}

/// Counters of lanes or of a pool, for metrics. A pool has no batches. Names with `Total` only increase.
package struct LaneStatistics: Sendable, Equatable {
    package var connections = ConnectionStatistics()
    /// Connections that currently wait for a call.
    package var idleLanes = 0
    /// Calls that currently wait for a connection.
    package var queueDepth = 0
    /// Calls that timed out in the queue or found it full.
    package var shedTotal = 0
    /// Transactions started; a single call counts as one.
    package var batchesTotal = 0
    /// Calls in all batches.
    package var callsTotal = 0
    /// Calls that ran in one statement with others.
    package var gatheredCallsTotal = 0
    /// Batches that were rolled back.
    package var failedBatchesTotal = 0
    /// Calls that ran again after a rollback.
    package var repeatedCallsTotal = 0
    /// Calls that met a lock or conflict and ran on the aside connection.
    package var callsAsideTotal = 0
}

/// One call that is queued or running.
///
/// `@unchecked Sendable`: the continuation is set before the call is queued. Afterwards, only the
/// thread that removes the call from the queue, under the queue's lock, uses it.
final class LaneCall: QueuedCall, @unchecked Sendable {
    typealias Caller = CheckedContinuation<Result<[Row], PostgresError>, Never>

    let statement: Statement
    let parameters: EncodedParameters
    let row: RowKey
    let expires: MonotonicTime
    /// The call must be answered by then.
    let deadline: MonotonicTime
    private var caller: Caller?

    /// - Parameter queueWait: `nil`: the call does not wait in a queue.
    init(
        _ statement: Statement, _ parameters: EncodedParameters, row: RowKey = .none, queueWait: Duration? = nil,
        deadline: MonotonicTime
    ) {
        self.statement = statement
        self.parameters = parameters
        self.row = row
        self.deadline = deadline
        expires = queueWait.map { min(deadline, .after($0)) } ?? deadline
    }

    func expect(_ caller: Caller) { self.caller = caller }

    /// Resumes the caller; at most once.
    func answer(_ result: Result<[Row], PostgresError>) {
        caller?.resume(returning: result)
        caller = nil
    }

    func fail(_ error: PostgresError) { answer(.failure(error)) }
}

/// Decides when a lane may start a batch.
///
/// Fewer, larger batches cost less per call: fewer commits, and statements that serve many calls. So queued calls
/// wait for the lane whose batch ends next. Another lane starts a batch only if the queue fills one, or if the batch
/// in flight exceeds `patience`: its server may be hung.
struct LaneTurns: Sendable {
    private let maxBatch: Int
    private let patience: Duration
    /// Per lane: the start of its batch in flight.
    private var began: [MonotonicTime?]
    /// Lanes that wait. `watching` counts those of them that also wait for the patience of the batch in flight to end.
    private(set) var idle = 0
    private var watching = 0
    /// A lane was signalled and has not run yet.
    private var isCalled = false

    init(_ lanes: LaneConfiguration) {
        maxBatch = max(lanes.maxBatch, 1)
        patience = lanes.patience
        began = Array(repeating: nil, count: max(lanes.lanes, 1))
    }

    enum Wait {
        case forCalls
        /// For the end of the batch in flight.
        case forOthers
    }

    mutating func beginBatch(_ lane: Int, at now: MonotonicTime) { began[lane] = now }
    mutating func endBatch(_ lane: Int) { began[lane] = nil }

    /// The earliest time at which an idle lane may start a batch; `nil`: at once.
    func turn(queued: Int) -> MonotonicTime? {
        guard queued < maxBatch, let last = began.lazy.compactMap(\.self).max() else { return nil }
        return last.advanced(by: patience)
    }

    mutating func enter(_ wait: Wait) {
        idle += 1
        if wait == .forOthers { watching += 1 }
    }

    mutating func leave(_ wait: Wait) {
        idle -= 1
        if wait == .forOthers { watching -= 1 }
        isCalled = false
    }

    /// Whether a waiting lane must be signalled for the queued calls. If true, the caller signals it.
    mutating func call(queued: Int) -> Bool {
        guard idle > 0, !isCalled, queued > 0, watching == 0 || turn(queued: queued) == nil else { return false }
        isCalled = true
        return true
    }
}
