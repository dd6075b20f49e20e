import Logging
import NIOHTTP1
import NativeSSO

/// How a logout request ended: with so many sessions that were live, and whose end is committed.
typealias LogoutOutcome = Result<Int64, TokenError>

enum LogoutLabel: String, Sendable, CaseIterable {
    case ended, refused, unavailable, failed

    init(_ outcome: LogoutOutcome) {
        self =
            switch outcome {
            case .success: .ended
            case .failure(.invalidIDToken), .failure(.refused), .failure(.limited): .refused
            case .failure(.outage): .unavailable
            case .failure(.broken): .failed
            }
    }
}

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
        var (sessionsEnded, error): (Int64?, TokenError?) = (nil, nil)
        switch outcome {
        case .success(let count): sessionsEnded = count
        case .failure(let failure): error = failure
        }
        if let refusal = error?.refusal, refusal.auditKind(of: record.grant) != nil {
            audit.note(refusal, as: .logoutRefused, of: record, client: nil)
        }
        var metadata: Logger.Metadata = [
            "request_id": .string(record.requestID.description),
            "outcome": .string(LogoutLabel(outcome).rawValue),
            "reason": .string(error?.reason ?? "none"),
            "status": .stringConvertible(Int(status.code)),
            "duration_us": .stringConvertible(Int((ContinuousClock.now - record.start).microseconds)),
        ]
        if let sessionsEnded { metadata["sessions_ended"] = .stringConvertible(Int(sessionsEnded)) }
        logger.log(level: error?.level ?? .info, "logout request", metadata: metadata)
    }
}
