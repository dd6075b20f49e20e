import HTTPServer
import JOSE
import NativeSSO
import OAuthWire

/// Every way in which a request can be refused. Each has its row in the table of refusals.
indirect enum Refusal: Error, Sendable {
    case wire(HTTPFault)
    case request(RequestRefusal)
    case form(FormError)
    case parameter(ParameterDefect)
    case client(ClientFailure)
    case proof(DPoPDefect)
    /// - Parameter fresh: The nonce to try again with.
    case nonce(NonceDefect, fresh: String)
    case subjectToken(SubjectTokenDefect)
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
    var reason: String { row.reason }

    var row: RefusalRow {
        switch self {
        case .wire(let fault): fault.row
        case .request(let refusal): refusal.row
        case .form(let error): error.row
        case .parameter(let defect): defect.row
        case .client(let failure): failure.reason.row
        case .proof(let defect): defect.row
        case .nonce(let defect, fresh: _): defect.row
        case .subjectToken(let defect): defect.row
        case .exchange(let refusal, profile: _, client: _): refusal.row
        case .enrolment(let refusal): refusal.row
        case .code(let refusal): refusal.row
        case .refresh(let refusal): refusal.row
        case .rate(let limited): limited.limit.row
        case .logout(let refusal): refusal.row
        }
    }

    /// `nil` for what never became a request to the token endpoint: noise from the network does not reach the database.
    func auditKind(of grant: GrantLabel) -> AuditEvent.Kind? {
        switch self {
        case .wire, .request(.unknownPath), .request(.method): nil
        case .request, .form, .parameter, .client, .proof, .nonce, .rate: .requestRefused
        case .subjectToken: grant == .enrolment ? .enrolmentRefused : .exchangeRefused
        case .exchange: .exchangeRefused
        case .enrolment, .code: .enrolmentRefused
        case .refresh: .refreshRefused
        case .logout: .logoutRefused
        }
    }
}

/// Why a request is refused before any grant looks at it, or by the endpoint's own reading of its parameters.
package enum RequestRefusal: Sendable, CaseIterable {
    // HTTP
    case unknownPath
    case method
    case contentType
    case contentEncoding
    /// RFC 6749 §2.3.1: credentials must not be in the URI. So nothing is.
    case query
    case authorizationRepeated

    // Client, as far as it is a matter of form
    /// RFC 6749 §2.3: one mechanism per request.
    case severalMechanisms
    case clientIDMismatch
    case grantNotAllowed
    /// RFC 9449 §5.2.
    case proofRequired

    // Exchange
    case audienceUnknown
    case profileNotEnabled
    case hyphenatedTokenType
    case actorTokenMalformed
    /// No login of this issuer is enrolled by exchange.
    case enrolmentNotEnabled
    /// The same of a code.
    case relayNotEnabled
    case deviceIDMalformed
    case profileNotEnabledForCode
}

/// Why the caller is not taken for a client. All of them are told the same.
package enum ClientRefusal: Error, Sendable, CaseIterable {
    case missing
    case unknown
    case disabled
    /// The client is registered for another method. A stronger one is never replaced by a weaker one.
    case methodMismatch
    /// The secret is none of the client's.
    case authenticationFailed
    case malformedBasic
    case unknownScheme
    /// `client_secret` in the body: not supported.
    case postedSecret

    // A client assertion, RFC 7523 §3
    /// `client_assertion` or a `client_assertion_type` that is known is missing.
    case assertionIncomplete
    case assertionMalformed
    case assertionHeader
    case assertionWrongType
    case assertionAlgorithm
    case assertionUnknownKey
    case assertionSignature
    case assertionIssuer
    case assertionSubject
    case assertionAudience
    /// Missing, past, or too far ahead.
    case assertionExpiry
    case assertionNotBefore
    case assertionIssuedAt
    case assertionID
    /// Used before, at whichever replica.
    case assertionReplayed
}
