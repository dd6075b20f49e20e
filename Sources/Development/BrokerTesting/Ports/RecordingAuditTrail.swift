package import NativeSSO
import Synchronization

/// Keeps what it is told.
package final class RecordingAuditTrail: AuditTrail {
    private struct State {
        var events: [AuditEvent] = []
        var waiting: [(count: Int, CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())

    package init() {}

    /// In the order in which they were recorded.
    package var events: [AuditEvent] { state.withLock { $0.events } }

    /// Returns when so many have been recorded.
    package func untilRecorded(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                guard state.events.count < count else { return true }
                state.waiting.append((count, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    package func record(_ event: AuditEvent) {
        let reached = state.withLock { state in
            state.events.append(event)
            let count = state.events.count
            defer { state.waiting.removeAll { $0.count <= count } }
            return state.waiting.filter { $0.count <= count }.map(\.1)
        }
        for continuation in reached { continuation.resume() }
    }
}
