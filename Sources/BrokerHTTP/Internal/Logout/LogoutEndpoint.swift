public import Logging
import NIOHTTP1
public import NativeSSO
import OAuthWire

/// `POST /backchannel-logout` of the internal listener: where an identity provider says that a login is over. OpenID Connect
/// Back-Channel Logout 1.0 §2.5 to §2.8.
///
/// 200 when the end is committed, 400 where the token is refused, and 400 with `temporarily_unavailable` and `Retry-After` where
/// the broker could not find out or could not do it.
/// Every request ends in one answer and one line in the log; every refusal is in the audit, under the `X-Request-Id` of its answer.
public struct LogoutEndpoint: Sendable {
    static let path = "/backchannel-logout"

    private let logout: Logout
    private let limiter: RequestLimiter
    private let journal: LogoutJournal

    public init(
        logout: Logout, limiter: RequestLimiter, audit: any AuditTrail, metrics: BrokerMetrics, clock: any WallClock,
        logger: Logger
    ) {
        self.logout = logout
        self.limiter = limiter
        journal = LogoutJournal(audit: audit, metrics: metrics, clock: clock, logger: logger)
    }

    func answer(_ request: ReceivedRequest) async -> HTTPAnswer {
        let record = journal.begin()
        let outcome: LogoutOutcome
        do throws(TokenError) {
            outcome = .succeeded(EndedSessions(count: try await end(request, record.requestID)))
        } catch {
            outcome = LogoutOutcome(error)
        }
        var answer = HTTPAnswer(outcome)
        answer.headers.append(("X-Request-Id", record.requestID.description))
        journal.end(record, outcome, status: answer.status)
        return answer
    }

    private func end(_ request: ReceivedRequest, _ requestID: UniqueID) async throws(TokenError) -> Int64 {
        let form = try TokenError.refusing { () throws(Refusal) in try request.form(.backChannelLogout) }
        guard let token = form[Parameter.logoutToken] else { throw .refused(.logout(.missing)) }
        try TokenError.counting { () throws(RateLimited) in try limiter.chargeLogout() }
        do throws(LogoutError) {
            return try await logout.run(LogoutToken(token), requestID: requestID)
        } catch {
            throw TokenError(error) { .logout($0) }
        }
    }
}
