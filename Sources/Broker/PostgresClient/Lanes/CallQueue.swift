/// A call that waits for a connection.
protocol QueuedCall: AnyObject, Sendable {
    /// Each statement has its own queue.
    var statement: Statement { get }
    /// The call may wait until then.
    var expires: MonotonicTime { get }
    func fail(_ error: PostgresError)
}

/// Calls in order of arrival.
struct CallQueue<Call: QueuedCall>: Sendable {
    /// Entries before `head` are `nil`.
    private var slots: [Call?] = []
    private var head = 0

    var count: Int { slots.count - head }

    mutating func append(_ call: Call) { slots.append(call) }

    /// Returns a call to the front.
    mutating func prepend(_ call: Call) {
        if head > 0 {
            head -= 1
            slots[head] = call
        } else {
            slots.insert(call, at: 0)
        }
    }

    mutating func popFirst() -> Call? {
        guard head < slots.count else { return nil }
        let call = slots[head]
        slots[head] = nil
        head += 1
        if head == slots.count {
            slots.removeAll(keepingCapacity: true)
            head = 0
        } else if head >= 1024, head * 2 >= slots.count {
            slots.removeFirst(head)
            head = 0
        }
        return call
    }

    mutating func removeAll(where isRemoved: (Call) -> Bool) -> [Call] {
        var removed: [Call] = []
        guard slots[head...].contains(where: { $0.map(isRemoved) == true }) else { return removed }
        var kept: [Call?] = []
        for case let call? in slots[head...] {
            if isRemoved(call) { removed.append(call) } else { kept.append(call) }
        }
        (slots, head) = (kept, 0)
        return removed
    }
}

/// The calls that wait for a lane, with a queue per statement. A batch takes from the queues in turn, so a flood of
/// one statement does not delay the others.
struct CallQueues<Call: QueuedCall>: Sendable {
    private var queues: [(statement: Statement, calls: CallQueue<Call>)] = []
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
        for index in queues.indices { removed += queues[index].calls.removeAll(where: isRemoved) }
        count -= removed.count
        return removed
    }

    private mutating func index(of statement: Statement) -> Int {
        if let index = queues.firstIndex(where: { $0.statement == statement }) { return index }
        queues.append((statement, CallQueue()))
        return queues.count - 1
    }
}
