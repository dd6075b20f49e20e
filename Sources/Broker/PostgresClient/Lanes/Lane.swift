/// One thread with one connection. When it is its turn, it sends the queued calls as one transaction and waits for
/// the commit.
struct Lane {
    let core: LaneCore
    let number: Int

    /// Interval for checking an idle connection: a dead one is replaced before a call needs it.
    private static let idleCheck = Duration.seconds(5)

    func run() {
        core.search.withConnections(serve)
        core.laneEnded()
    }

    /// Runs batches until the connection is unusable, or the lanes are closed and their queue is empty.
    private func serve(_ connection: Connection) {
        defer { core.pause(number) }
        let runner = BatchRunner(core: core, connection: connection)
        var batch: [LaneCall] = []
        while connection.isUsable {
            switch core.next(&batch, on: number, until: .after(Self.idleCheck)) {
            case .nothing: if connection.isStale() { return }
            case .closed: return
            case .batch:
                guard !connection.isStale() else { return core.putBack(batch) }
                runner.run(batch)
                batch.removeAll(keepingCapacity: true)
            }
        }
    }
}

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
}

/// Counters of lanes, for metrics. Names with `Total` only increase.
package struct LaneStatistics: Sendable, Equatable {
    package var connections = ConnectionStatistics()
    /// Lanes that currently wait for a call.
    package var idleLanes = 0
    /// Calls that currently wait for a lane.
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
final class LaneCall: @unchecked Sendable {
    typealias Caller = CheckedContinuation<Result<[Row], PostgresError>, Never>

    let statement: Statement
    let parameters: EncodedParameters
    let row: RowKey
    /// The call may wait for a lane until then.
    let expires: MonotonicTime
    /// The call must be answered by then.
    let deadline: MonotonicTime
    private var caller: Caller?

    init(
        _ statement: Statement, _ parameters: EncodedParameters, row: RowKey, queueWait: Duration, limit: Duration
    ) {
        let now = MonotonicTime.now
        self.statement = statement
        self.parameters = parameters
        self.row = row
        deadline = now.advanced(by: limit)
        expires = min(deadline, now.advanced(by: queueWait))
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
