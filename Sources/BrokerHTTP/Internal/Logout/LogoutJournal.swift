import Logging
import NIOHTTP1
import NativeSSO

/// One line in the log for every logout request, a count in the metrics, and an audit event for a refusal, as far as
/// ``AuditLimit`` lets it. What a logout did is recorded by the statements that did it.
struct LogoutJournal: Sendable {
    private let metrics: BrokerMetrics
    private let audit: RefusalAudit
    private let logger: Logger

    init(audit: any AuditTrail, metrics: BrokerMetrics, clock: any WallClock, logger: Logger) {
        self.metrics = metrics
        self.audit = RefusalAudit(audit: audit, metrics: metrics, clock: clock)
        self.logger = logger
    }

    func begin() -> RequestRecord { .new(audit.clock) }

    func end(_ record: RequestRecord, _ outcome: LogoutOutcome, status: HTTPResponseStatus) {
        metrics.logoutEnded(outcome)
        if let refusal = outcome.refusal, refusal.auditKind(of: record.grant) != nil {
            audit.note(refusal, as: .logoutRefused, of: record, client: nil)
        }
        var metadata: Logger.Metadata = [
            "request_id": .string(record.requestID.description),
            "outcome": .string(outcome.label.rawValue),
            "reason": .string(outcome.reason),
            "status": .stringConvertible(Int(status.code)),
            "duration_us": .stringConvertible(Int((ContinuousClock.now - record.start).microseconds)),
        ]
        if case .succeeded(let ended) = outcome { metadata["sessions_ended"] = .stringConvertible(Int(ended.count)) }
        logger.log(level: outcome.level, "logout request", metadata: metadata)
    }
}
