import HTTPServer
package import Logging
import NIOHTTP1
package import NativeSSO
import OAuthWire

/// `POST /backchannel-logout` of the internal or the backchannel listener: an identity provider reports the end of a login. OpenID Connect
/// Back-Channel Logout 1.0 §2.5 to §2.8.
///
/// - 200: the end is committed.
/// - 400: the token is refused.
/// - 400 with `temporarily_unavailable` and `Retry-After`: an outage, or a rate limit.
/// - 400 with `server_error`: a defect of the broker. §2.8 has no other failure status.
///
/// Every request ends in one answer and one line in the log. Refusals go to the audit, within ``AuditLimit``, under the
/// `X-Request-Id` of the answer.
package struct LogoutEndpoint: Sendable {
    static let path = "/backchannel-logout"

    private let logout: Logout
    private let limiter: RequestLimiter
    private let certainty: Certainty
    private let audit: RefusalAudit
    private let logger: Logger

    package init(
        logout: Logout, limiter: RequestLimiter, certainty: Certainty, audit: any AuditTrail,
        metrics: BrokerMetrics, clock: any WallClock, logger: Logger
    ) {
        self.logout = logout
        self.limiter = limiter
        self.certainty = certainty
        self.audit = RefusalAudit(audit: audit, metrics: metrics, clock: clock)
        self.logger = logger
    }

    func answer(_ request: ReceivedRequest) async -> HTTPAnswer {
        var record = RequestRecord.new(audit.clock)
        record.trace = request.trace
        let outcome: LogoutOutcome
        var answer = HTTPAnswer(status: .ok, body: Array("{}".utf8))
        do throws(TokenError) {
            outcome = .success(try await end(request, record.requestID))
        } catch {
            outcome = .failure(error)
            answer = HTTPAnswer(error)
            switch error {
            case .refused: break
            // Back-Channel Logout 1.0 §2.8. `error` separates a refused token from one that may be sent again.
            case .invalidIDToken, .limited, .outage, .broken: answer.status = .badRequest
            }
        }
        answer.headers.append(("X-Request-Id", record.requestID.description))
        end(record, outcome, status: answer.status)
        return answer
    }

    private func end(_ request: ReceivedRequest, _ requestID: UniqueID) async throws(TokenError) -> Int64 {
        let form = try TokenError.refusing { () throws(Refusal) in try request.form(.backChannelLogout) }
        try TokenError.port { () throws(PortError) in try certainty.check() }
        guard let token = form[Parameter.logoutToken] else { throw .refused(.logout(.missing)) }
        do throws(LogoutError) {
            let claims = try await limiter.limiting(
                tokenFrom: request.client, signer: \.signal.issuer, isForged: \.hasUnknownSigner
            ) { () async throws(LogoutError) in try await logout.verify(LogoutToken(token)) }
            return try await logout.end(claims, requestID: requestID)
        } catch {
            throw TokenError(error) { .logout($0) }
        }
    }
}

/// The number of live sessions that the logout ended, and whose end is committed; or the failure.
typealias LogoutOutcome = Result<Int64, TokenError>

/// One line in the log for every logout request, a count in the metrics, and an audit event for a refusal, as far as
/// ``AuditLimit`` admits it. The statements that end sessions record what a logout did.
extension LogoutEndpoint {
    private func end(_ record: RequestRecord, _ outcome: LogoutOutcome, status: HTTPResponseStatus) {
        audit.metrics.logoutEnded(outcome)
        var error: TokenError?
        if case .failure(let failure) = outcome { error = failure }
        if let refusal = error?.refusal, refusal.auditKind(of: record.grant) != nil {
            audit.note(refusal, as: .logoutRefused, of: record, client: nil)
        }
        var metadata: Logger.Metadata = [
            "request_id": .string(record.requestID.description),
            "outcome": .string(error?.label.rawValue ?? "ended"),
            "reason": .string(error?.reason ?? "none"),
            "status": .stringConvertible(Int(status.code)),
            "duration_us": .stringConvertible(Int((ContinuousClock.now - record.start).microseconds)),
        ]
        if let trace = record.trace {
            metadata["trace_id"] = .string(trace.traceID)
            metadata["span_id"] = .string(trace.spanID)
        }
        if case .success(let count) = outcome { metadata["sessions_ended"] = .stringConvertible(Int(count)) }
        logger.log(level: error?.level ?? .info, "logout request", metadata: metadata)
    }
}
