import HTTPServer
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
    /// Who asks, as presented, once that is good: failures are counted by it.
    var presentedClient = ""
    /// The client's assertion, if that is what it proved itself with.
    var assertion: Credential?
    /// Whether a proof was shown that holds.
    var showsProof = false
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

/// One line in the log for every request, a count in the metrics, and an audit event for a refusal, as far as ``AuditLimit``
/// admits it.
///
/// All words come from closed vocabularies: nothing that the caller sent, except the name of a registered client. For a request
/// over a rate limit, the log has the caller's network, which is too wide to identify one person.
struct RequestJournal: Sendable {
    let audit: RefusalAudit
    let logger: Logger

    func begin() -> RequestRecord {
        audit.metrics.requestBegan()
        return .new(audit.clock)
    }

    /// - Parameter error: `nil`: tokens were granted.
    func end(_ record: RequestRecord, _ error: TokenError?, status: HTTPResponseStatus) {
        let duration = ContinuousClock.now - record.start
        let (label, reason, refusal) = (error?.label ?? .granted, error?.reason ?? "none", error?.refusal)
        audit.metrics.requestEnded(grant: record.grant, outcome: label, reason: refusal.map { _ in reason }, duration)

        var client = record.client
        if case .client(let failure) = refusal { client = failure.client }
        if let refusal, let kind = refusal.auditKind(of: record.grant) {
            audit.note(refusal, as: kind, of: record, client: client)
        }
        var fields: [(name: String, value: LogField)] = [
            ("client_id", .text(client?.string ?? "unknown")),
            ("duration_us", .number(Int(duration.microseconds))),
            ("grant", .text(record.grant.rawValue)),
            ("outcome", .text(label.rawValue)),
            ("reason", .text(reason)),
            ("request_id", .text(record.requestID.description)),
            ("status", .number(Int(status.code))),
        ]
        if case .rate = refusal { fields.insert(("network", .text(record.caller?.network ?? "unknown")), at: 3) }
        logger.log(level: error?.level ?? .info, "token request", metadata: LogFields(fields: fields).metadata)
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
