import DequeModule

protocol QueuedCall: AnyObject, Sendable {
    /// Each statement has its own queue.
    var statement: Statement { get }
    /// The call may wait until then.
    var expires: MonotonicTime { get }
    func fail(_ error: PostgresError)
}

/// The calls that wait for a lane, with a queue per statement. A batch takes from the queues in turn, so a flood of
/// one statement does not delay the others.
struct CallQueues<Call: QueuedCall>: Sendable {
    private var queues: [(statement: Statement, calls: Deque<Call>)] = []
    /// The queue that is first in turn.
    private var turn = 0
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    /// False if the statement's queue is full.
    mutating func append(_ call: Call, limit: Int) -> Bool {
        let index = index(of: call.statement)
        guard queues[index].calls.count < limit else { return false }
        queues[index].calls.append(call)
        count += 1
        return true
    }

    /// Returns calls to the front of their queues, in order.
    mutating func putBack(_ calls: [Call]) {
        for call in calls.reversed() { queues[index(of: call.statement)].calls.prepend(call) }
        count += calls.count
    }

    mutating func take(_ limit: Int, into batch: inout [Call]) {
        let end = batch.count + min(limit, count)
        count -= end - batch.count
        while batch.count < end {
            for offset in queues.indices where batch.count < end {
                guard let call = queues[(turn + offset) % queues.count].calls.popFirst() else { continue }
                batch.append(call)
            }
        }
        turn = queues.isEmpty ? 0 : (turn + 1) % queues.count
    }

    mutating func removeAll(where isRemoved: (Call) -> Bool) -> [Call] {
        var removed: [Call] = []
        for index in queues.indices where queues[index].calls.contains(where: isRemoved) {
            removed += queues[index].calls.filter(isRemoved)
            queues[index].calls.removeAll(where: isRemoved)
        }
        count -= removed.count
        return removed
    }

    private mutating func index(of statement: Statement) -> Int {
        if let index = queues.firstIndex(where: { $0.statement == statement }) { return index }
        queues.append((statement, []))
        return queues.count - 1
    }
}
