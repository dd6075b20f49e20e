import Logging
import NIOHTTP1
import NativeSSO
import OAuthWire

/// What is known of a request so far.
struct RequestRecord: Sendable {
    let requestID: UniqueID
    let start: ContinuousClock.Instant
    /// Whom it is from; `nil` where nobody who is believed says.
    var caller: ClientAddress?
    var grant = GrantLabel.none
    /// Registered, though perhaps not authenticated; never what an unknown caller wrote.
    var client: ClientID?
    /// Which login and grant it turned out to be about.
    var subject = AuditSubject()
    /// What a refusal is counted by: the refresh token or subject token; the client's assertion while that is used up.
    var presented: Credential?

    /// With a name of its own, from now on: nothing that the caller sends names a request. The name holds its time, so that
    /// the audit's index of names grows at its end.
    static func new(_ clock: any WallClock) -> RequestRecord {
        var randomness = PooledRandomness()
        return RequestRecord(
            requestID: .timeOrdered(milliseconds: UInt64(clamping: clock.milliseconds), using: &randomness), start: .now
        )
    }
}

/// One line in the log for every request, a count in the metrics, and an audit event for a refusal, as far as
/// ``AuditLimit`` lets it. All of it from closed
/// vocabularies: not an octet of what the caller sent, except the name of a client that is registered. Of who asks too often
/// the log has the network, too wide to tell one person.
struct RequestJournal: Sendable {
    private let metrics: BrokerMetrics
    private let audit: RefusalAudit
    private let logger: Logger

    init(audit: any AuditTrail, metrics: BrokerMetrics, clock: any WallClock, logger: Logger) {
        self.metrics = metrics
        self.audit = RefusalAudit(audit: audit, metrics: metrics, clock: clock)
        self.logger = logger
    }

    func begin() -> RequestRecord {
        metrics.requestBegan()
        return .new(audit.clock)
    }

    func end(_ record: RequestRecord, _ outcome: TokenOutcome, status: HTTPResponseStatus) {
        let duration = ContinuousClock.now - record.start
        metrics.requestEnded(grant: record.grant, outcome: outcome.label, reason: outcome.refusal?.reason, duration)

        var client = record.client
        if case .refused(.client(let failure)) = outcome { client = failure.client }
        if let refusal = outcome.refusal, let kind = refusal.auditKind(of: record.grant) {
            audit.note(refusal, as: kind, of: record, client: client)
        }
        var metadata: Logger.Metadata = [
            "request_id": .string(record.requestID.description),
            "grant": .string(record.grant.rawValue),
            "client_id": .string(client?.string ?? "unknown"),
            "outcome": .string(outcome.label.rawValue),
            "reason": .string(outcome.reason),
            "status": .stringConvertible(Int(status.code)),
            "duration_us": .stringConvertible(Int(duration.microseconds)),
        ]
        if case .refused(.rate) = outcome { metadata["network"] = .string(record.caller?.network ?? "unknown") }
        logger.log(level: outcome.level, "token request", metadata: metadata)
    }
}

extension Duration {
    /// Whole microseconds; saturates.
    var microseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000)
        return overflow ? .max : product + attoseconds / 1_000_000_000_000
    }
}
