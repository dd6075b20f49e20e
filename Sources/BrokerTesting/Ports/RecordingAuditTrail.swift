public import NativeSSO
import Synchronization

/// Keeps what it is told.
public final class RecordingAuditTrail: AuditTrail {
    private let recorded = Mutex<[AuditEvent]>([])

    public init() {}

    /// In the order in which they were recorded.
    public var events: [AuditEvent] { recorded.withLock { $0 } }

    public func record(_ event: AuditEvent) {
        recorded.withLock { $0.append(event) }
    }
}
