package import NativeSSO
import Synchronization

/// Keeps what it is told.
package final class RecordingAuditTrail: AuditTrail {
    private let state = Mutex<[AuditEvent]>([])

    package init() {}

    /// In the order in which they were recorded.
    package var events: [AuditEvent] { state.withLock { $0 } }

    package func record(_ event: AuditEvent) { state.withLock { $0.append(event) } }
}
