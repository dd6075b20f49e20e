import HTTPServer
import NIOCore
import NIOHTTP1
package import NativeSSO
import OAuthWire
import StrictCoding

/// `POST /security-events` (RFC 8935) and `POST /global-token-revocation`
/// (draft-parecki-oauth-global-token-revocation), by which an identity provider says that a session or account is over.
///
/// - 202 for an event, 204 for a revocation: the end is committed.
/// - 400: the event is refused, with `err` of RFC 8935 §2.4; or the body of a revocation is.
/// - 401, 403: the JWT of a revocation is refused, or it may not speak for this subject.
/// - 429 and 503 with `Retry-After`: the same token may be sent again.
package struct SecurityEventEndpoint: Sendable {
    package static let eventPath = "/security-events"
    package static let revocationPath = "/global-token-revocation"

    private let events: SecurityEvents
    private let takesEvents: Bool
    private let takesRevocations: Bool
    private let limiter: RequestLimiter
    private let certainty: Certainty
    private let metrics: BrokerMetrics

    package init(
        events: SecurityEvents, takesEvents: Bool, takesRevocations: Bool, limiter: RequestLimiter,
        certainty: Certainty, metrics: BrokerMetrics
    ) {
        self.events = events
        self.takesEvents = takesEvents
        self.takesRevocations = takesRevocations
        self.limiter = limiter
        self.certainty = certainty
        self.metrics = metrics
    }

    /// `nil`: the request is for another path.
    func grant(of request: ReceivedRequest) -> GrantLabel? {
        if takesEvents, request.isFor(Self.eventPath) { return .securityEvent }
        return takesRevocations && request.isFor(Self.revocationPath) ? .globalTokenRevocation : nil
    }

    func answer(
        _ request: ReceivedRequest, as grant: GrantLabel, _ requestID: UniqueID
    ) async -> (HTTPAnswer, TokenError?) {
        do throws(TokenError) {
            try TokenError.port { () throws(PortError) in try certainty.check() }
            if grant == .securityEvent {
                try await take(event: request, requestID)
                return (HTTPAnswer(status: .accepted, body: []), nil)
            }
            try await take(revocation: request, requestID)
            return (HTTPAnswer(status: .noContent, body: []), nil)
        } catch {
            return (grant == .securityEvent ? Self.delivery(error) : Self.revocation(error), error)
        }
    }

    private func take(event request: ReceivedRequest, _ requestID: UniqueID) async throws(TokenError) {
        let body = try TokenError.refusing { () throws(Refusal) in
            try request.body(of: "application/secevent+jwt", else: .eventContentType)
        }
        do throws(EventError) {
            guard !body.isEmpty else { throw .refused(.missing) }
            let token = LogoutToken(String(decoding: body, as: UTF8.self))
            let event = try await limiter.limiting(
                tokenFrom: request.client, signer: \.signer, isForged: \.hasUnknownSigner
            ) { () async throws(EventError) in try await events.verify(event: token) }
            guard case .signal(let signal) = event else { return }
            metrics.ended(try await events.apply(signal, requestID: requestID), by: .securityEvent)
        } catch {
            throw TokenError(error) { .event($0) }
        }
    }

    private func take(revocation request: ReceivedRequest, _ requestID: UniqueID) async throws(TokenError) {
        let body = try TokenError.refusing { () throws(Refusal) in
            try request.body(of: "application/json", else: .eventContentType)
        }
        guard request.headers["authorization"].count <= 1 else { throw .refused(.request(.authorizationRepeated)) }
        guard let token = request.bearer.map(LogoutToken.init) else { throw .refused(.event(.missing)) }
        do throws(EventError) {
            let signal = try await limiter.limiting(
                tokenFrom: request.client, signer: \.signer, isForged: \.hasUnknownSigner
            ) { () async throws(EventError) in try await events.verify(revocation: token, body: Array(body)) }
            metrics.ended(try await events.apply(signal, requestID: requestID), by: .globalTokenRevocation)
        } catch {
            throw TokenError(error) { .event($0) }
        }
    }

    // MARK: Failures

    /// RFC 8935 §2.4: a 400 has `err`. Other statuses say nothing of the token.
    private static func delivery(_ error: TokenError) -> HTTPAnswer {
        var answer = HTTPAnswer(error)
        guard let refusal = error.refusal, answer.status == .badRequest else { return answer }
        var json = JSONWriter(reservingCapacity: 128)
        json.object { json in
            json.member("err", refusal.deliveryError)
            json.member("description", refusal.answer.body.description.description)
        }
        answer.body = json.bytes
        return answer
    }

    /// RFC 6750 §3: a refused JWT gets a challenge.
    private static func revocation(_ error: TokenError) -> HTTPAnswer {
        var answer = HTTPAnswer(error)
        guard case .refused(.event(let reason)) = error else { return answer }
        switch reason {
        case .subjectForeign: answer.status = .forbidden
        case .bodyMalformed, .subjectMissing, .subjectFormat: break
        case .missing:
            answer.status = .unauthorized
            answer.headers.append(("WWW-Authenticate", "Bearer"))
        default:
            answer.status = .unauthorized
            answer.headers.append(("WWW-Authenticate", "Bearer error=\"invalid_token\""))
        }
        return answer
    }
}

extension Refusal {
    /// RFC 8935 §2.4.
    fileprivate var deliveryError: String {
        guard case .event(let reason) = self else { return "invalid_request" }
        return switch reason {
        case .algorithmNotAllowed, .unknownKey, .keyRetired, .keyRevoked, .badSignature: "invalid_key"
        case .issuer: "invalid_issuer"
        case .audience: "invalid_audience"
        case .subjectForeign: "access_denied"
        default: "invalid_request"
        }
    }
}
