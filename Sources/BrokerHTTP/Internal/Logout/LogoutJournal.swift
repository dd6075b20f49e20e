import Logging
import NIOHTTP1
import NativeSSO

/// One line in the log for every logout request, a count in the metrics, and an audit event for a refusal, as far as
/// ``AuditLimit`` lets it. What a logout did is recorded by the statements that did it.
struct LogoutJournal: Sendable {
    let audit: any AuditTrail
    let metrics: BrokerMetrics
    let clock: any WallClock
    let logger: Logger
    private let auditLimit = AuditLimit()

    init(audit: any AuditTrail, metrics: BrokerMetrics, clock: any WallClock, logger: Logger) {
        self.audit = audit
        self.metrics = metrics
        self.clock = clock
        self.logger = logger
    }

    func begin() -> RequestRecord {
        var randomness = SystemRandomNumberGenerator()
        return RequestRecord(requestID: UniqueID(high: randomness.next(), low: randomness.next()), start: .now)
    }

    func end(_ record: RequestRecord, _ outcome: LogoutOutcome, status: HTTPResponseStatus) {
        metrics.logoutEnded(outcome)
        if case .refused(let refusal) = outcome, refusal.auditKind != nil {
            if auditLimit.admits(refusal, of: nil, at: record.start) {
                audit.record(
                    AuditEvent(
                        kind: .logoutRefused, requestID: record.requestID, occurredAtMilliseconds: clock.milliseconds,
                        client: nil, reason: refusal.reason))
            } else {
                metrics.auditEventSampledOut()
            }
        }
        var metadata: Logger.Metadata = [
            "request_id": .string(record.requestID.description),
            "outcome": .string(outcome.label.rawValue),
            "reason": .string(outcome.reason),
            "status": .stringConvertible(Int(status.code)),
            "duration_us": .stringConvertible(Int((ContinuousClock.now - record.start).microseconds)),
        ]
        if case .ended(let sessions) = outcome { metadata["sessions_ended"] = .stringConvertible(Int(sessions)) }
        logger.log(level: outcome.level, "logout request", metadata: metadata)
    }
}
