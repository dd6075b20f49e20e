import HTTPServer
package import Logging
import NIOHTTP1
package import NativeSSO
import OAuthWire

/// The backchannel listener: `POST /revoke` (RFC 7009), `POST /introspect` (RFC 7662), `/backchannel-logout`,
/// `/global-token-revocation` and `/security-events` (RFC 8935), each only if it is configured.
///
/// Clients authenticate as at the token endpoint, by the same code and under the same limits. Every request ends in
/// exactly one answer and one line in the log.
package struct BackchannelEndpoint: Sendable {
    package static let revocationPath = "/revoke"
    package static let introspectionPath = "/introspect"

    private let clients: ClientIdentification
    private let revocation: Revocation?
    private let introspection: Introspection?
    private let logout: LogoutEndpoint?
    private let events: SecurityEventEndpoint?
    private let certainty: Certainty
    private let metrics: BrokerMetrics
    private let requestLog: RequestLog

    /// - Parameters:
    ///   - revocation: `nil`: there is no `/revoke`.
    ///   - introspection: `nil`: there is no `/introspect`.
    ///   - logout: `nil`: there is no `/backchannel-logout`.
    ///   - events: `nil`: there is neither `/global-token-revocation` nor `/security-events`.
    ///   - clients: As for the token endpoint.
    package init(
        revocation: Revocation?, introspection: Introspection?, logout: LogoutEndpoint?, events: SecurityEventEndpoint?,
        clients: ClientIdentification, certainty: Certainty, audit: any AuditTrail, metrics: BrokerMetrics,
        clock: any WallClock, logger: Logger
    ) {
        self.clients = clients
        self.revocation = revocation
        self.introspection = introspection
        self.logout = logout
        self.events = events
        self.certainty = certainty
        self.metrics = metrics
        requestLog = RequestLog(
            audit: RefusalAudit(audit: audit, metrics: metrics, clock: clock), logger: logger,
            message: "backchannel request")
    }
}

extension BackchannelEndpoint: Responder {
    func answer(_ arrival: Arrival) async -> HTTPAnswer {
        if case .request(let request) = arrival, let logout, request.isFor(LogoutEndpoint.path) {
            return await logout.answer(request)
        }
        var record = requestLog.begin()
        if case .request(let request) = arrival, let events, let grant = events.grant(of: request) {
            record.grant = grant
            record.caller = request.client
            record.trace = request.trace
            let (answer, error) = await events.answer(request, as: grant, record.requestID)
            return requestLog.ended(answer, record, error)
        }
        do throws(TokenError) {
            return requestLog.ended(HTTPAnswer(status: .ok, body: try await body(arrival, &record)), record, nil)
        } catch {
            return requestLog.ended(HTTPAnswer(error), record, error)
        }
    }

    private func body(_ arrival: Arrival, _ record: inout RequestRecord) async throws(TokenError) -> [UInt8] {
        let request = try clients.begin(arrival, &record)
        try TokenError.port { () throws(PortError) in try certainty.check() }
        if let revocation, request.isFor(Self.revocationPath) {
            record.grant = .revocation
            return try await revoke(request, by: revocation, &record)
        }
        if let introspection, request.isFor(Self.introspectionPath) {
            record.grant = .introspection
            let (_, client, token) = try await presentedToken(request, &record)
            return try await TokenError.port { () async throws(PortError) in
                if let active = try await introspection.answer(token, to: client) { return active }
                if let outage = certainty.database() { throw .outage(outage) }
                return Introspection.inactive
            }
        }
        throw .refused(.request(.unknownPath))
    }

    private func revoke(
        _ request: ReceivedRequest, by revocation: Revocation, _ record: inout RequestRecord
    ) async throws(TokenError) -> [UInt8] {
        let (form, client, token) = try await presentedToken(request, &record)
        let revoked = RevocationRequest(
            requestID: record.requestID, client: client, token: token,
            isSaidToBeDeviceSecret: form[Parameter.tokenTypeHint]?.utf8.elementsEqual(Parameter.deviceSecret.utf8)
                == true,
            deviceID: try TokenError.refusing { () throws(Refusal) in
                try DeviceValue.id(form[Parameter.deviceID], else: .deviceIDMalformed)
            })
        let ended: Revocation.Ended
        do throws(RevocationError) {
            ended = try await revocation.run(revoked, about: &record.subject)
        } catch {
            throw TokenError(error) { .revocation($0) }
        }
        if ended.sessions == 0, ended.grants == 0, let outage = certainty.database() { throw .outage(outage) }
        metrics.ended(ended)
        return Array("{}".utf8)
    }

    /// The form, its authenticated client, and `token`. Consumes the client's assertion.
    private func presentedToken(
        _ request: ReceivedRequest, _ record: inout RequestRecord
    ) async throws(TokenError) -> (FormParameters, Client, token: String) {
        let form = try TokenError.refusing { () throws(Refusal) in try request.form(.presentedToken) }
        let (client, assertion) = try clients.identify(authorization: request.headers["authorization"], form, &record)
        guard let token = form[Parameter.token] else { throw .refused(.parameter(.tokenMissing)) }
        // A refusal is counted by the client's assertion first, and then by the token.
        record.presented = record.assertion
        try await clients.use(assertion, record)
        record.presented = Credential(token)
        return (form, client, token)
    }
}
