import HTTPServer
import Logging
import NIOHTTP1
import NativeSSO
import OAuthWire

/// The facts known about a request so far.
struct RequestRecord: Sendable {
    let requestID: UniqueID
    let start: ContinuousClock.Instant
    /// The sender; `nil` over a Unix socket if no trusted proxy names an address.
    var caller: ClientAddress?
    /// `nil` unless a trusted proxy named one.
    var trace: TraceContext?
    var grant = GrantLabel.none
    /// Registered, though perhaps not authenticated; never the caller's own text.
    var client: ClientID?
    /// The identity provider that the request named, before a token proves it.
    var namedProvider: Issuer?
    /// The login and the grant of the request.
    var subject = AuditSubject()
    /// The client identifier as presented, once the credential is good: failures are counted by it.
    var presentedClient = ""
    /// The assertion that authenticated the client, if there is one.
    var assertion: Credential?
    /// Whether the request carried a valid proof.
    var showsProof = false
    /// The key for counting refusals: the refresh token or subject token; the client's assertion while it is being
    /// consumed.
    var presented: Credential?

    /// Gives the request a new identifier; the caller's input never names a request. The identifier is time-ordered, so
    /// that the audit's index grows at its end.
    static func new(_ clock: any WallClock) -> RequestRecord {
        var randomness = PooledRandomness()
        return RequestRecord(
            requestID: .timeOrdered(milliseconds: UInt64(clamping: clock.milliseconds), using: &randomness), start: .now
        )
    }
}

/// Writes one log line for every request, a count in the metrics, and an audit event for a refusal if ``AuditLimit``
/// admits it.
///
/// All values come from closed vocabularies: nothing from the request except the name of a registered client. For a
/// request over a rate limit, the log has the caller's network, which is too wide to identify one person.
struct RequestLog: Sendable {
    let audit: RefusalAudit
    let logger: Logger
    /// What every line says.
    let message: Logger.Message

    func begin() -> RequestRecord {
        audit.metrics.requestBegan()
        return .new(audit.clock)
    }

    /// - Parameter error: `nil`: the request was granted.
    /// - Returns: The answer with its `X-Request-Id`.
    func ended(_ answer: HTTPAnswer, _ record: RequestRecord, _ error: TokenError?) -> HTTPAnswer {
        var answer = answer
        answer.headers.append(("X-Request-Id", record.requestID.description))
        end(record, error, status: answer.status)
        return answer
    }

    private func end(_ record: RequestRecord, _ error: TokenError?, status: HTTPResponseStatus) {
        let duration = ContinuousClock.now - record.start
        let (label, reason, refusal) = (error?.label ?? .granted, error?.reason ?? "none", error?.refusal)
        audit.metrics.requestEnded(grant: record.grant, outcome: label, reason: refusal.map { _ in reason }, duration)
        if record.subject.isRedelivery { audit.metrics.redeliveries.add() }
        if case .refresh(let reason) = refusal, reason.revokesGrant { audit.metrics.reusedGrants.add() }

        var client = record.client
        if case .client(let failure) = refusal { client = failure.client }
        if let refusal, let kind = refusal.auditKind(of: record.grant) {
            audit.note(refusal, as: kind, of: record, client: client)
        }
        // In the order of the names.
        var fields: [(name: String, value: LogField)] = []
        fields.reserveCapacity(12)
        let leftOut = record.subject.claimsLeftOut
        if !leftOut.isEmpty { fields.append(("claims_left_out", .text(leftOut.joined(separator: " ")))) }
        fields.append(("client_id", .text(client?.string ?? "unknown")))
        fields.append(("duration_us", .number(Int(duration.microseconds))))
        if let fault = refusal?.fault { fields.append(("fault", .text(fault))) }
        fields.append(("grant", .text(record.grant.rawValue)))
        if let issuer = record.subject.provider ?? record.namedProvider {
            fields.append(("issuer", .text(issuer.string)))
        }
        if case .rate = refusal { fields.append(("network", .text(record.caller?.network ?? "unknown"))) }
        fields.append(("outcome", .text(label.rawValue)))
        fields.append(("reason", .text(reason)))
        fields.append(("request_id", .text(record.requestID.description)))
        if let session = record.subject.session { fields.append(("session_id", .text(session.description))) }
        if let trace = record.trace { fields.append(("span_id", .text(trace.spanID))) }
        fields.append(("status", .number(Int(status.code))))
        if let trace = record.trace { fields.append(("trace_id", .text(trace.traceID))) }
        logger.log(level: error?.level ?? .info, message, metadata: LogFields(fields: fields).metadata)
    }
}

extension TraceContext {
    /// For the audit.
    var id: UniqueID? {
        guard let high = UInt64(traceID.prefix(16), radix: 16), let low = UInt64(traceID.suffix(16), radix: 16) else {
            return nil
        }
        return UniqueID(high: high, low: low)
    }
}

extension Duration {
    /// Whole microseconds; saturates.
    var microseconds: Int64 { nanoseconds / 1000 }
}
