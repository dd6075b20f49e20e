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
