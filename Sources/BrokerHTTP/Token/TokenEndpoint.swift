public import Logging
import NIOHTTP1
public import NativeSSO
import OAuthWire

/// `POST /token`: the public listener, and all there is on it.
///
/// Cheap checks before dear ones, nothing secret before the client is known, cryptography before any claim is believed,
/// and one writing statement last. Every request ends in exactly one answer and one line in the log.
public struct TokenEndpoint: Sendable {
    private let exchange: Exchange
    private let refresh: Refresh
    private let clients: ClientIdentification
    private let issuers: [IssuerPolicy]
    private let journal: RequestJournal

    /// - Parameters:
    ///   - authenticators: For confidential clients, by method; a client of a method that is not here is refused.
    ///   - issuers: The identity providers, as configured; `audience` picks one of them.
    public init(
        exchange: Exchange, refresh: Refresh, directory: any ClientDirectory,
        authenticators: [Client.Authentication: any ClientAuthenticator] = [:], issuers: [IssuerPolicy],
        audit: any AuditTrail, metrics: BrokerMetrics, clock: any WallClock, logger: Logger
    ) {
        self.exchange = exchange
        self.refresh = refresh
        clients = ClientIdentification(directory: directory, authenticators: authenticators)
        self.issuers = issuers
        journal = RequestJournal(audit: audit, metrics: metrics, clock: clock, logger: logger)
    }
}

extension TokenEndpoint: Responder {
    func answer(_ arrival: Arrival) async -> HTTPAnswer {
        var record = journal.begin()
        let outcome: TokenOutcome
        switch arrival {
        case .fault(let fault): outcome = .refused(.wire(fault))
        case .request(let request):
            do throws(TokenError) {
                outcome = .granted(try await grant(request, &record))
            } catch {
                outcome = TokenOutcome(error)
            }
        }
        var answer = HTTPAnswer(outcome)
        answer.headers.append(("X-Request-Id", record.requestID.description))
        journal.end(record, outcome, status: answer.status)
        return answer
    }

    private func grant(
        _ request: ReceivedRequest, _ record: inout RequestRecord
    ) async throws(TokenError) -> TokenResponse {
        let form = try TokenError.refusing { () throws(Refusal) in try request.tokenForm() }
        let grantType = try reading { () throws(ParameterDefect) in try GrantType(form) }
        record.grant = GrantLabel(grantType)
        guard let permission = grantType.permission else { throw .refused(.parameter(.grantTypeUnknown)) }

        let client = try await clients.identify(
            authorization: request.headers["authorization"], ClientParameters(form))
        record.client = client.id
        guard client.grants.contains(permission) else { throw .refused(.request(.grantNotAllowed)) }

        switch try reading({ () throws(ParameterDefect) in try TokenRequest(form, grantType: grantType) }) {
        case .tokenExchange(let parameters):
            record.presented = parameters.subjectToken
            return try await run(parameters, for: client, record.requestID)
        case .refreshToken(let parameters):
            record.presented = parameters.refreshToken
            return try await run(parameters, for: client, record.requestID)
        }
    }

    private func run(
        _ parameters: TokenExchangeParameters, for client: Client, _ requestID: UniqueID
    ) async throws(TokenError) -> TokenResponse {
        let request = try TokenError.refusing { () throws(Refusal) in
            try ExchangeRequest(parameters, client: client, requestID: requestID, issuers: issuers)
        }
        do throws(ExchangeError) {
            return TokenResponse(try await exchange.run(request), issuedTokenType: .accessToken)
        } catch {
            throw TokenError(error) { .exchange($0, profile: request.profile, client: client) }
        }
    }

    private func run(
        _ parameters: RefreshParameters, for client: Client, _ requestID: UniqueID
    ) async throws(TokenError) -> TokenResponse {
        let request = RefreshRequest(
            requestID: requestID, client: client, refreshToken: parameters.refreshToken.secret,
            scope: parameters.scope.map { Scope($0.tokens) })
        do throws(RefreshError) {
            return TokenResponse(try await refresh.run(request), issuedTokenType: nil)
        } catch {
            throw TokenError(error) { .refresh($0) }
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

extension GrantType {
    /// `nil` for a grant that this endpoint knows by name only.
    fileprivate var permission: Client.Grant? {
        switch self {
        case .tokenExchange: .tokenExchange
        case .refreshToken: .refreshToken
        case .authorizationCode: nil
        }
    }
}

extension TokenResponse {
    fileprivate init(_ answer: TokenAnswer, issuedTokenType: TokenTypeURI?) {
        self.init(
            accessToken: answer.accessToken, issuedTokenType: issuedTokenType, tokenType: .bearer,
            expiresIn: answer.expiresIn.count, scope: answer.scope.description, refreshToken: answer.refreshToken,
            idToken: answer.idToken)
    }
}
