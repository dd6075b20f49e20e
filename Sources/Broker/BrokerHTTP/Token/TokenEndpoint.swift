import HTTPServer
package import Logging
import NIOHTTP1
package import NativeSSO
import OAuthWire

/// `POST /token`, the only endpoint of the public listener.
///
/// The order: count the caller's address before reading anything; cheap checks before costly ones; identify the client
/// before using any secret; verify cryptography before believing claims; write last.
///
/// One statement consumes a client's assertion and writes the grant. For a relayed code, a statement of its own
/// consumes the assertion before the code is reserved. Every request ends in exactly one answer and one line in the
/// log.
package struct TokenEndpoint: Sendable {
    private let exchange: Exchange
    private let handoff: WebHandoff
    private let enrolment: Enrolment?
    private let codes: CodeEnrolment?
    private let refresh: Refresh
    private let clients: ClientIdentification
    private let limiter: RequestLimiter
    private let logins: any LoginDirectory
    private let proofs: ProofVerifier
    private let issuers: [IssuerPolicy]
    private let certainty: Certainty
    private let requestLog: RequestLog

    /// - Parameters:
    ///   - enrolment: `nil`: the broker enrols no login by exchange.
    ///   - codes: `nil`: the broker redeems no code.
    ///   - proofs: Verifies DPoP proofs.
    ///   - limiter: Counts before the rules of a grant. The grants use the same limiter.
    ///   - logins: Where the broker sends a user whose login is not enough.
    ///   - issuers: The identity providers, as configured; `audience` picks one of them.
    package init(
        exchange: Exchange, refresh: Refresh, handoff: WebHandoff, enrolment: Enrolment? = nil,
        codes: CodeEnrolment? = nil, clients: ClientIdentification, proofs: ProofVerifier, limiter: RequestLimiter,
        logins: any LoginDirectory,
        issuers: [IssuerPolicy], certainty: Certainty, audit: any AuditTrail, metrics: BrokerMetrics,
        clock: any WallClock, logger: Logger
    ) {
        self.exchange = exchange
        self.handoff = handoff
        self.enrolment = enrolment
        self.codes = codes
        self.refresh = refresh
        self.clients = clients
        self.limiter = limiter
        self.logins = logins
        self.proofs = proofs
        self.issuers = issuers
        self.certainty = certainty
        requestLog = RequestLog(
            audit: RefusalAudit(audit: audit, metrics: metrics, clock: clock), logger: logger,
            message: "token request")
    }
}

extension TokenEndpoint: Responder {
    func answer(_ arrival: Arrival) async -> HTTPAnswer {
        var record = requestLog.begin()
        do throws(TokenError) {
            let (grantType, reader) = try await prepare(arrival, &record)
            let tokens: TokenAnswer
            switch grantType {
            case .tokenExchange where enrolment != nil && reader.asksForIDToken:
                tokens = try await enrol(reader, &record)
            case .tokenExchange where reader.asksForHandoff: tokens = try await handOff(reader, &record)
            case .tokenExchange where reader.redeemsHandoff: tokens = try await redeemHandoff(reader, &record)
            case .tokenExchange:
                let request = try read(reader, Parameter.subjectToken, &record, as: TokenRequestReader.exchange)
                try note(request.issuer, &record)
                do throws(ExchangeError) {
                    tokens = try await exchange.run(request, about: &record.subject)
                } catch {
                    let provider = record.subject.provider
                    throw TokenError(error) {
                        .exchange($0, profile: request.profile, client: refused(request, $0, of: provider))
                    }
                }
            case .refreshToken:
                let request = try read(reader, Parameter.refreshToken, &record, as: TokenRequestReader.refresh)
                do throws(RefreshError) {
                    tokens = try await refresh.run(request, about: &record.subject)
                } catch {
                    throw TokenError(error) { .refresh($0) }
                }
            case .authorizationCode: tokens = try await redeem(reader, &record)
            }
            var answer = HTTPAnswer(status: .ok, body: tokens.json)
            if record.showsProof, let nonce = await proofs.freshNonce { answer.headers.append(("DPoP-Nonce", nonce)) }
            return requestLog.ended(answer, record, nil)
        } catch {
            let answer = failed(error, &record)
            if error.hasSharedAnswer {
                try? await Task.sleep(until: record.start + Self.leastTimeOfRefusal, clock: .continuous)
            }
            return answer
        }
    }

    /// A refusal whose answer many reasons share leaves no sooner than this after its request. Then its time does not
    /// show the reason either, unless the work takes longer than this.
    private static let leastTimeOfRefusal = Duration.milliseconds(5)

    private func failed(_ error: TokenError, _ record: inout RequestRecord) -> HTTPAnswer {
        var error = error
        if error.isOfUsedAssertion {
            // Counted by the assertion, whatever else the request holds.
            record.presented = record.assertion
            error = clients.replayed(record)
        } else if error.hasSharedAnswer, !error.hasWritten, let outage = certainty.database() {
            error = .outage(outage)
        }
        return requestLog.ended(HTTPAnswer(error), record, error)
    }

    /// Everything before the grant's own rules. It waits at most for the tag of a nonce.
    private func prepare(
        _ arrival: Arrival, _ record: inout RequestRecord
    ) async throws(TokenError) -> (GrantType, TokenRequestReader) {
        let request = try clients.begin(arrival, &record)
        try TokenError.port { () throws(PortError) in try certainty.check() }
        let form = try TokenError.refusing { () throws(Refusal) in try request.tokenForm() }
        let grantType = try TokenError.refusing { () throws(Refusal) in try TokenRequestReader.grantType(form) }
        record.grant = GrantLabel(grantType)
        guard let permission = permission(for: grantType) else { throw .refused(.parameter(.grantTypeUnknown)) }

        let (client, assertion) = try clients.identify(authorization: request.headers["authorization"], form, &record)
        // Verified here and consumed by the grant.
        let proof = try await proofs.proof(request.headers["dpop"], of: client)
        guard client.grants.contains(permission) else { throw .refused(.request(.grantNotAllowed)) }
        record.showsProof = proof != nil
        let reader = TokenRequestReader(
            form: form, client: client, proof: proof, assertion: assertion, requestID: record.requestID,
            trace: record.trace?.id, issuers: issuers)
        return (grantType, reader)
    }

    /// Also sets the key for counting refusals.
    private func read<Request>(
        _ reader: TokenRequestReader, _ presented: String, _ record: inout RequestRecord,
        as grant: (TokenRequestReader) -> () throws(Refusal) -> Request
    ) throws(TokenError) -> Request {
        let request = try TokenError.refusing { () throws(Refusal) in try grant(reader)() }
        record.presented = reader.form[presented].map(Credential.init)
        return request
    }

    /// The identity provider that a request names. An operator may have suspended it.
    private func note(_ provider: IssuerPolicy, _ record: inout RequestRecord) throws(TokenError) {
        record.namedProvider = provider.issuer
        let suspended = try TokenError.port { () throws(PortError) in try clients.directory.suspendedProviders }
        guard suspended.contains(provider.issuer) else { return }
        // An app that keeps its login for later is not limited for it.
        record.presented = nil
        throw .refused(.request(.providerSuspended))
    }

    private func enrol(
        _ reader: TokenRequestReader, _ record: inout RequestRecord
    ) async throws(TokenError) -> TokenAnswer {
        record.grant = .enrolment
        let request = try read(reader, Parameter.subjectToken, &record, as: TokenRequestReader.enrolment)
        try note(request.issuer, &record)
        guard let enrolment else { throw .refused(.request(.enrolmentNotEnabled)) }
        do throws(EnrolmentError) {
            return try await enrolment.run(request)
        } catch {
            throw TokenError(error) { .enrolment($0) }
        }
    }

    private func handOff(
        _ reader: TokenRequestReader, _ record: inout RequestRecord
    ) async throws(TokenError) -> TokenAnswer {
        record.grant = .handoff
        let request = try read(reader, Parameter.subjectToken, &record, as: TokenRequestReader.handoff)
        try note(request.exchange.issuer, &record)
        do throws(HandoffError) {
            return try await handoff.make(request, about: &record.subject)
        } catch {
            throw TokenError(error) { Refusal($0) }
        }
    }

    private func redeemHandoff(
        _ reader: TokenRequestReader, _ record: inout RequestRecord
    ) async throws(TokenError) -> TokenAnswer {
        record.grant = .handoffRedemption
        let request = try read(reader, Parameter.subjectToken, &record, as: TokenRequestReader.redemption)
        do throws(HandoffError) {
            return try await handoff.redeem(request, about: &record.subject)
        } catch {
            throw TokenError(error) { Refusal($0) }
        }
    }

    private func redeem(
        _ reader: TokenRequestReader, _ record: inout RequestRecord
    ) async throws(TokenError) -> TokenAnswer {
        let caller = record.caller
        let providers = try TokenError.port { () throws(PortError) in
            try clients.directory.providers(of: reader.client.id)
        }
        let request = try TokenError.refusing { () throws(Refusal) in
            try reader.code(origin: RequestLimiter.origin(caller), at: providers)
        }
        try note(request.issuer, &record)
        try TokenError.counting { () throws(RateLimited) in try limiter.charge(codeFrom: caller) }
        guard let codes else { throw .refused(.parameter(.grantTypeUnknown)) }
        // A refusal is counted by the client's assertion first, and then by the code.
        record.presented = record.assertion
        try await clients.use(reader.assertion, record)
        record.presented = Credential(request.code.code)
        do throws(CodeError) {
            return TokenAnswer(try await codes.run(request))
        } catch {
            throw TokenError(error) { .code($0) }
        }
    }

    /// - Parameter provider: The issuer of the login, if it is known.
    private func refused(
        _ request: ExchangeRequest, _ refusal: ExchangeRefusal, of provider: Issuer?
    ) -> Refusal.RefusedClient {
        let maximumAge = refusal.maximumAuthenticationAge(for: request.client)
        var client = Refusal.RefusedClient(client: request.client, maximumAuthenticationAge: maximumAge)
        if refusal.needsUser, let provider, let endpoint = logins.authorizationEndpoint(of: provider) {
            client.authorizationURI =
                AuthorizationRequest(of: request, to: endpoint, maximumAuthenticationAge: maximumAge).uri
        }
        return client
    }

    /// The permission that a client needs; `nil` for a grant that is not offered. A code needs the same permission as
    /// an enrolment by exchange.
    private func permission(for grantType: GrantType) -> Client.Grant? {
        switch grantType {
        case .tokenExchange: .tokenExchange
        case .refreshToken: .refreshToken
        case .authorizationCode: codes == nil ? nil : .tokenExchange
        }
    }
}
