import JOSE
import NativeSSO
import OAuthWire

/// Every way in which a request can be refused. What the caller sees of it stands in one table, ``answer``.
enum Refusal: Error, Sendable {
    case wire(HTTPFault)
    case request(RequestRefusal)
    case form(FormError)
    case parameter(ParameterDefect)
    case client(ClientFailure)
    case proof(DPoPDefect)
    /// - Parameter fresh: The nonce to try again with.
    case nonce(NonceDefect, fresh: String)
    case exchange(ExchangeRefusal, profile: Profile, client: RefusedClient)
    case enrolment(EnrolmentRefusal)
    case code(CodeRefusal)
    case refresh(RefreshRefusal)
    case logout(LogoutRefusal)
    /// Not judged at all: too many.
    case rate(RateLimited)

    /// The client whose exchange is refused.
    struct RefusedClient: Sendable {
        let client: Client
        /// How old the login may be at most that mends it; `nil`: any age.
        let maximumAuthenticationAge: Seconds?
        /// Where its user can do what is missing, if it is the user's to do and the place is known.
        var authorizationURI: String?
    }

    struct ClientFailure: Sendable {
        let reason: ClientRefusal
        /// The registered client that was named, if there is one.
        let client: ClientID?
        /// RFC 6749 §5.2: then the answer is a 401 with a challenge.
        let usedAuthorization: Bool
    }

    /// From a closed vocabulary, for the log, the audit and the metrics.
    var reason: String {
        switch self {
        case .wire(let fault): fault.rawValue
        case .request(let refusal): refusal.rawValue
        case .form(let error): error.rawValue
        case .parameter(let defect): defect.rawValue
        case .client(let failure): failure.reason.rawValue
        case .proof(let defect): defect.rawValue
        case .nonce(let defect, fresh: _): defect.rawValue
        case .exchange(let refusal, profile: _, client: _): refusal.reason
        case .enrolment(let refusal): refusal.reason
        case .code(let refusal): refusal.reason
        case .refresh(let refusal): refusal.rawValue
        case .rate(let limited): limited.limit.rawValue
        case .logout(let refusal): refusal.rawValue
        }
    }

    /// `nil` for what never became a request to the token endpoint: noise from the network does not reach the database.
    var auditKind: AuditEvent.Kind? {
        switch self {
        case .wire, .request(.unknownPath), .request(.method): nil
        case .request, .form, .parameter, .client, .proof, .nonce, .rate: .requestRefused
        case .exchange: .exchangeRefused
        case .enrolment, .code: .enrolmentRefused
        case .refresh: .refreshRefused
        case .logout: .logoutRefused
        }
    }

    /// Every value of ``reason``, so that metrics have a fixed size.
    static let allReasons: [String] =
        HTTPFault.allCases.map(\.rawValue) + RequestRefusal.allCases.map(\.rawValue)
        + FormError.allCases.map(\.rawValue) + ParameterDefect.allCases.map(\.rawValue)
        + ClientRefusal.allCases.map(\.rawValue) + DPoPDefect.allCases.map(\.rawValue)
        + NonceDefect.allCases.map(\.rawValue) + ExchangeRefusal.allCases.map(\.reason)
        + EnrolmentRefusal.allCases.map(\.reason) + CodeRefusal.allCases.map(\.reason)
        + RefreshRefusal.allCases.map(\.rawValue) + RateLimited.Limit.allCases.map(\.rawValue)
        + LogoutRefusal.allCases.map(\.rawValue)
}
