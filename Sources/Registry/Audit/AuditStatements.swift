import NativeSSO
import PostgresClient

enum AuditStatements {
    static let record = Statement("SELECT native_sso.record_audit($1, $2, $3, $4, $5, $6, $7, $8)")
    static let preparePartitions = Statement("SELECT native_sso.prepare_audit_partitions()")

    /// One array per column; the function takes them in step.
    static func parameters(_ events: [AuditEvent]) -> [PostgresValue] {
        [
            .timestampArray(events.map { $0.occurredAtMilliseconds * 1000 }),
            .textArray(events.map(\.kind.rawValue)),
            .uuidArray(events.map(\.requestID.octets)),
            .textArray(events.map { $0.client?.string ?? "" }),
            .textArray(events.map(\.reason)),
            .uuidArray(events.map { $0.subject.session?.octets ?? nothing }),
            .uuidArray(events.map { $0.subject.grant?.octets ?? nothing }),
            .textArray(events.map { $0.subject.sourceClient?.string ?? "" }),
        ]
    }

    /// In an array there is no NULL: the function takes this for one.
    private static let nothing = [UInt8](repeating: 0, count: 16)
}
