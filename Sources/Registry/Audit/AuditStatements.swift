import NativeSSO
import PostgresClient

enum AuditStatements {
    static let record = Statement("SELECT native_sso.record_audit($1, $2, $3, $4, $5)")
    static let preparePartitions = Statement("SELECT native_sso.prepare_audit_partitions()")

    /// One array per column; the function takes them in step.
    static func parameters(_ events: [AuditEvent]) -> [PostgresValue] {
        [
            .timestampArray(events.map { $0.occurredAtMilliseconds * 1000 }),
            .textArray(events.map(\.kind.rawValue)),
            .uuidArray(events.map(\.requestID.octets)),
            .textArray(events.map { $0.client?.string ?? "" }),
            .textArray(events.map(\.reason)),
        ]
    }
}
