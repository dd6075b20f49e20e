/// One thread with one connection: takes what is queued when it is its turn, sends it as one transaction, waits for its commit,
/// and takes what came meanwhile.
struct Lane {
    let core: LaneCore
    let number: Int

    /// An idle connection is looked at this often, so that a dead one is replaced before a call needs it.
    private static let idleCheck = Duration.seconds(5)

    func run() {
        core.search.withConnections(serve)
        core.laneEnded()
    }

    /// Runs batches until the connection is of no more use, or the lanes are closed and their queue empty.
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

/// How calls are gathered into batches. Times of calls are those of ``PostgresConfiguration``.
public struct LaneConfiguration: Sendable {
    /// Connections, each on a thread of its own. As many have a batch in flight as it takes: one as long as it keeps up.
    public var lanes = 2
    /// When the batch of one lane has taken so long, another one sends what waits behind it. Before that, only if what waits fills
    /// a batch: the larger batches are the less each call costs.
    public var patience: Duration = .milliseconds(8)
    /// Calls in one transaction, at most.
    public var maxBatch = 128
    /// From so many calls of one statement in a batch on, they are made by one, if the statement has a ``Gathering``. Fewer cost
    /// less each by itself.
    public var gathersFrom = 4
    /// Calls of one statement that may wait. Each statement has its own share, so that a flood of one leaves room for the
    /// others.
    public var queueLimit = 2048
    /// The server's `lock_timeout` for a batch. Short, as one locked row holds up everybody in it: whoever meets the lock
    /// is then run again aside, with the `lockTimeout` of ``PostgresConfiguration``.
    public var batchLockTimeout: Duration = .milliseconds(100)

    public init() {}
}

/// Counters of lanes, for metrics. Totals only ever grow.
public struct LaneStatistics: Sendable, Equatable {
    public var connections = ConnectionStatistics()
    /// Lanes that wait for a call now.
    public var idleLanes = 0
    /// Calls that wait for a lane now.
    public var queueDepth = 0
    /// Calls that waited in vain or found the queue full.
    public var shedTotal = 0
    /// Transactions that were begun; a call that no other was there to go with counts as one.
    public var batchesTotal = 0
    /// Calls in them.
    public var callsTotal = 0
    /// Of the calls, those that were made by one statement with others.
    public var gatheredCallsTotal = 0
    /// Of the batches, those that were rolled back.
    public var failedBatchesTotal = 0
    /// Of the calls, those that were run again because of it.
    public var repeatedCallsTotal = 0
    /// Of the calls, those that met a lock or a conflict, and were run by themselves on a connection aside.
    public var callsAsideTotal = 0
}

/// One call that waits for a lane, or has one.
///
/// `@unchecked Sendable`: the caller's continuation is set before the call is queued, and taken by whoever took the call
/// out of the queue, under the lock of the queue.
final class LaneCall: @unchecked Sendable {
    typealias Caller = CheckedContinuation<Result<[Row], PostgresError>, Never>

    let statement: Statement
    let parameters: EncodedParameters
    let row: RowKey
    /// Until then it may wait for a lane.
    let expires: MonotonicTime
    /// Until then it is to be answered.
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

    /// Resumes the caller; once.
    func answer(_ result: Result<[Row], PostgresError>) {
        caller?.resume(returning: result)
        caller = nil
    }

    func fail(_ error: PostgresError) { answer(.failure(error)) }
}

/// Which lane may begin a batch when.
///
/// The fewer batches the calls are spread over the less each costs: commits, and statements that serve many. So what waits is for
/// the lane whose batch will be done next. Another lane begins one beside it only if what waits would fill a batch, or if the
/// one in flight takes so long that the server may not answer it at all.
struct LaneTurns: Sendable {
    private let maxBatch: Int
    private let patience: Duration
    /// Of each lane that has a batch in flight, when it began it.
    private var began: [MonotonicTime?]
    /// Lanes that wait for a call, and of these the ones that look again when the batch in flight has taken too long.
    private(set) var idle = 0
    private var watching = 0
    /// A lane was woken, and has not looked since.
    private var isCalled = false

    init(_ lanes: LaneConfiguration) {
        maxBatch = max(lanes.maxBatch, 1)
        patience = lanes.patience
        began = Array(repeating: nil, count: max(lanes.lanes, 1))
    }

    enum Wait {
        case forCalls
        /// For the batch in flight.
        case forOthers
    }

    mutating func beginBatch(_ lane: Int, at now: MonotonicTime) { began[lane] = now }
    mutating func endBatch(_ lane: Int) { began[lane] = nil }

    /// From when on a lane that has no batch may begin one; `nil`: at once.
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

    /// Whether a lane that waits is to be woken for what is queued; if so, the caller does it.
    mutating func call(queued: Int) -> Bool {
        guard idle > 0, !isCalled, queued > 0, watching == 0 || turn(queued: queued) == nil else { return false }
        isCalled = true
        return true
    }
}
