import NativeSSO
import Synchronization

/// Events on their way to the database: bounded, so that a database that is away cannot eat the memory.
final class AuditBuffer: Sendable {
    private struct State {
        var events: [AuditEvent] = []
        var lost = 0
    }

    private let state = Mutex(State())
    private let capacity: Int
    /// Yields once for every event that found the buffer empty: the writer's call to work.
    let arrivals: AsyncStream<Void>
    private let arrival: AsyncStream<Void>.Continuation

    init(capacity: Int) {
        self.capacity = capacity
        (arrivals, arrival) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    func append(_ event: AuditEvent) {
        let isFirst = state.withLock { state in
            guard state.events.count < capacity else {
                state.lost += 1
                return false
            }
            state.events.append(event)
            return state.events.count == 1
        }
        if isFirst { arrival.yield() }
    }

    /// The oldest events, at most `limit`, and how many were lost since the last call.
    func take(atMost limit: Int) -> (events: [AuditEvent], lost: Int) {
        state.withLock { state in
            let batch = Array(state.events.prefix(limit))
            state.events.removeFirst(batch.count)
            defer { state.lost = 0 }
            return (batch, state.lost)
        }
    }

    /// Gives events back that could not be written; they come first again, as far as there is room.
    func restore(_ events: [AuditEvent]) {
        state.withLock { state in
            let room = max(0, capacity - state.events.count)
            state.events.insert(contentsOf: events.prefix(room), at: 0)
            state.lost += max(0, events.count - room)
        }
        arrival.yield()
    }

    var isEmpty: Bool { state.withLock { $0.events.isEmpty } }

    /// Ends ``arrivals``.
    func finish() { arrival.finish() }
}
