public import Logging
import NIOHTTP1
public import NativeSSO
import OAuthWire

/// `POST /token`: the public listener, and all there is on it.
///
/// The caller's address before anything is read, cheap checks before dear ones, nothing secret before the client is known,
/// cryptography before any claim is believed, and writing last: one statement uses a client's assertion up and writes the
/// grant. Only for a code that is relayed the assertion is used up by a statement of its own, before the code is reserved. Every
/// request that is begun ends in exactly one answer and one line in the log.
public struct TokenEndpoint: Sendable {
    private let exchange: Exchange
    private let enrolment: Enrolment?
    private let codes: CodeEnrolment?
    private let refresh: Refresh
    private let clients: ClientIdentification
    private let limiter: RequestLimiter
    private let logins: any LoginDirectory
    private let proofs: ProofVerifier
    private let issuers: [IssuerPolicy]
    private let journal: RequestJournal

    /// - Parameters:
    ///   - issuer: Ours: the audience of client assertions.
    ///   - enrolment: `nil`: nobody enrols here by exchange.
    ///   - codes: `nil`: no code is redeemed here.
    ///   - assertions: Which of them were used, at any replica.
    ///   - proofs: Of whoever shows that it holds a key.
    ///   - limiter: Counts by what is known before a grant's own rules are asked; the same one counts for the grants.
    ///   - logins: Where a user is sent whose login is not enough.
    ///   - issuers: The identity providers, as configured; `audience` picks one of them.
    public init(
        issuer: Issuer, exchange: Exchange, refresh: Refresh, enrolment: Enrolment? = nil,
        codes: CodeEnrolment? = nil,
        directory: any ClientDirectory, assertions: any AssertionRegister, proofs: ProofVerifier,
        limiter: RequestLimiter, logins: any LoginDirectory,
        issuers: [IssuerPolicy],
        audit: any AuditTrail, metrics: BrokerMetrics, clock: any WallClock, logger: Logger
    ) {
        self.exchange = exchange
        self.enrolment = enrolment
        self.codes = codes
        self.refresh = refresh
        clients = ClientIdentification(
            directory: directory,
            authenticator: ClientAuthenticator(
                issuer: issuer, directory: directory, keys: ClientKeySets(logger: logger), clock: clock),
            assertions: assertions, limiter: limiter)
        self.limiter = limiter
        self.logins = logins
        self.proofs = proofs
        self.issuers = issuers
        journal = RequestJournal(audit: audit, metrics: metrics, clock: clock, logger: logger)
    }
}

extension TokenEndpoint: Responder {
    func answer(_ arrival: Arrival) async -> HTTPAnswer {
        var record = journal.begin()
        let outcome: TokenOutcome
        do throws(TokenError) {
            switch arrival {
            case .fault(let fault, from: let caller):
                try count(caller, &record)
                throw .refused(.wire(fault))
            case .request(let request):
                try count(request.client, &record)
                outcome = try await grant(request, &record)
            }
        } catch {
            outcome = TokenOutcome(error)
        }
        var answer = HTTPAnswer(outcome)
        answer.headers.append(("X-Request-Id", record.requestID.description))
        journal.end(record, outcome, status: answer.status)
        return answer
    }

    private func count(_ caller: ClientAddress?, _ record: inout RequestRecord) throws(TokenError) {
        record.caller = caller
        try TokenError.counting { () throws(RateLimited) in try limiter.charge(requestFrom: caller) }
    }

    private func grant(
        _ request: ReceivedRequest, _ record: inout RequestRecord
    ) async throws(TokenError) -> TokenOutcome {
        let form = try TokenError.refusing { () throws(Refusal) in try request.tokenForm() }
        let grantType = try reading { () throws(ParameterDefect) in try GrantType(form) }
        record.grant = GrantLabel(grantType)
        guard let permission = permission(for: grantType) else {
            throw .refused(.parameter(.grantTypeUnknown))
        }

        let presented = ClientParameters(form)
        let identified = try clients.identify(
            authorization: request.headers["authorization"], presented, &record)
        let client = identified.client
        // Verified here and used up by the grant.
        let proof = try proofs.proof(request.headers["dpop"], of: client)
        guard client.grants.contains(permission) else { throw .refused(.request(.grantNotAllowed)) }

        let response: TokenResponse
        do throws(TokenError) {
            response = try await respond(to: form, grantType, identified, presented, proof, &record)
        } catch {
            guard error.isOfUsedAssertion else { throw error }
            // Counted by the assertion, whatever else is in the request.
            record.presented = presented.assertion?.jwt
            throw clients.replayed(identified)
        }
        return .succeeded(GrantedTokens(response: response, nonce: proof == nil ? nil : proofs.freshNonce))
    }

    private func respond(
        to form: FormParameters, _ grantType: GrantType, _ identified: IdentifiedClient, _ presented: ClientParameters,
        _ proof: PresentedProof?, _ record: inout RequestRecord
    ) async throws(TokenError) -> TokenResponse {
        let client = identified.client
        switch try reading({ () throws(ParameterDefect) in
            try TokenRequest(form, grantType: grantType, enrols: enrolment != nil, relaysCodes: codes != nil)
        }) {
        case .tokenExchange(let parameters):
            let request = try TokenError.refusing { () throws(Refusal) in
                try ExchangeRequest(
                    parameters, client: client, proof: proof, assertion: identified.assertion,
                    requestID: record.requestID, issuers: issuers)
            }
            record.presented = parameters.subjectToken
            return try await run(request, about: &record.subject)
        case .enrolment(let parameters):
            record.grant = .enrolment
            let request = try TokenError.refusing { () throws(Refusal) in
                try EnrolmentRequest(
                    parameters, client: client, proof: proof, assertion: identified.assertion,
                    requestID: record.requestID, issuers: issuers)
            }
            record.presented = parameters.subjectToken
            return try await run(request)
        case .authorizationCode(let parameters):
            let request = try TokenError.refusing { () throws(Refusal) in
                try CodeRequest(
                    parameters, client: client, proof: proof, requestID: record.requestID, issuers: issuers,
                    origin: RequestLimiter.origin(record.caller))
            }
            try TokenError.counting { () throws(RateLimited) in try limiter.charge(codeFrom: record.caller) }
            try await use(identified, presented.assertion, for: parameters.code, &record)
            return try await run(request)
        case .refreshToken(let parameters):
            record.presented = parameters.refreshToken
            return try await run(
                RefreshRequest(
                    requestID: record.requestID, client: client, refreshToken: parameters.refreshToken.secret,
                    scope: parameters.scope.map { Scope($0.tokens) }, proof: proof, assertion: identified.assertion),
                about: &record.subject)
        }
    }

    /// A refusal from here on is counted by what it is about: the client's assertion first, and then what the grant is for.
    private func use(
        _ client: IdentifiedClient, _ assertion: ClientParameters.Assertion?, for presented: Credential,
        _ record: inout RequestRecord
    ) async throws(TokenError) {
        record.presented = assertion?.jwt
        try await clients.use(client)
        record.presented = presented
    }

    private func run(
        _ request: ExchangeRequest, about subject: inout AuditSubject
    ) async throws(TokenError) -> TokenResponse {
        do throws(ExchangeError) {
            return TokenResponse(try await exchange.run(request, about: &subject), issuedTokenType: .accessToken)
        } catch {
            throw TokenError(error) {
                .exchange($0, profile: request.profile, client: refused(request, $0, of: subject.provider))
            }
        }
    }

    /// - Parameter provider: The one that the login is of, where that is known.
    private func refused(
        _ request: ExchangeRequest, _ refusal: ExchangeRefusal, of provider: Issuer?
    ) -> Refusal.RefusedClient {
        let maximumAge = refusal.maximumAuthenticationAge(for: request.client)
        var client = Refusal.RefusedClient(client: request.client, maximumAuthenticationAge: maximumAge)
        if refusal.needsUser, let provider, let endpoint = logins.authorizationEndpoint(of: provider) {
            client.authorizationURI =
                AuthorizationRequest(
                    of: request, to: endpoint, maximumAuthenticationAge: maximumAge
                ).uri
        }
        return client
    }

    private func run(_ request: EnrolmentRequest) async throws(TokenError) -> TokenResponse {
        guard let enrolment else { throw .refused(.request(.enrolmentNotEnabled)) }
        do throws(EnrolmentError) {
            return TokenResponse(try await enrolment.run(request))
        } catch {
            throw TokenError(error) { .enrolment($0) }
        }
    }

    private func run(_ request: CodeRequest) async throws(TokenError) -> TokenResponse {
        guard let codes else { throw .refused(.parameter(.grantTypeUnknown)) }
        do throws(CodeError) {
            return TokenResponse(try await codes.run(request))
        } catch {
            throw TokenError(error) { .code($0) }
        }
    }

    private func run(
        _ request: RefreshRequest, about subject: inout AuditSubject
    ) async throws(TokenError) -> TokenResponse {
        do throws(RefreshError) {
            return TokenResponse(try await refresh.run(request, about: &subject), issuedTokenType: nil)
        } catch {
            throw TokenError(error) { .refresh($0) }
        }
    }

    /// What a client must be allowed; `nil` for a grant that is not offered. Whoever brings a login in by its code does what an
    /// enrolment by exchange does.
    private func permission(for grantType: GrantType) -> Client.Grant? {
        switch grantType {
        case .tokenExchange: .tokenExchange
        case .refreshToken: .refreshToken
        case .authorizationCode: codes == nil ? nil : .tokenExchange
        }
    }

    private func reading<Value>(_ body: () throws(ParameterDefect) -> Value) throws(TokenError) -> Value {
        do throws(ParameterDefect) {
            return try body()
        } catch {
            throw .refused(.parameter(error))
        }
    }
}

extension TokenResponse {
    /// RFC 6749 §5.1, Native SSO §3.3: what the identity provider gave for its tokens is said as it said it.
    fileprivate init(_ answer: CodeAnswer) {
        let tokens = answer.tokens
        self.init(
            accessToken: tokens.accessToken, issuedTokenType: nil, tokenType: .bearer, expiresIn: tokens.expiresIn,
            scope: tokens.scope, refreshToken: tokens.refreshToken, idToken: tokens.idToken,
            deviceSecret: answer.deviceSecret)
    }

    /// RFC 8693 §2.2.1: whatever was issued is called `access_token`; `id_token` is where Native SSO §3.3 has it.
    fileprivate init(_ answer: EnrolmentAnswer) {
        self.init(
            accessToken: answer.idToken, issuedTokenType: .idToken, tokenType: .notApplicable,
            expiresIn: answer.expiresIn.count, scope: answer.scope?.description, idToken: answer.idToken,
            deviceSecret: answer.deviceSecret)
    }

    fileprivate init(_ answer: TokenAnswer, issuedTokenType: TokenTypeURI?) {
        self.init(
            accessToken: answer.accessToken, issuedTokenType: issuedTokenType,
            tokenType: answer.isBound ? .dpop : .bearer, expiresIn: answer.expiresIn.count,
            scope: answer.scope.description, refreshToken: answer.refreshToken,
            idToken: answer.idToken)
    }
}
