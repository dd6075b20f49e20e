import NativeSSO

/// Writes refusals to the audit, as far as ``AuditLimit`` lets it; what it does not let is counted.
struct RefusalAudit: Sendable {
    let audit: any AuditTrail
    let metrics: BrokerMetrics
    let clock: any WallClock
    private let limit = AuditLimit()

    init(audit: any AuditTrail, metrics: BrokerMetrics, clock: any WallClock) {
        self.audit = audit
        self.metrics = metrics
        self.clock = clock
    }

    func note(_ refusal: Refusal, as kind: AuditEvent.Kind, of record: RequestRecord, client: ClientID?) {
        if limit.admits(refusal, of: record.presented, at: record.start) {
            audit.record(
                AuditEvent(
                    kind: kind, requestID: record.requestID, occurredAtMilliseconds: clock.milliseconds,
                    client: client, reason: refusal.reason, subject: record.subject))
        } else {
            metrics.auditEventSampledOut()
        }
    }
}
