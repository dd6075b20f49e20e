import HTTPServer
import JOSE
import NativeSSO
import OAuthWire

/// Every way to refuse a request. Each has its row in the table of refusals.
indirect enum Refusal: Error, Sendable {
    case wire(HTTPFault)
    case request(RequestRefusal)
    case form(FormError)
    case parameter(ParameterDefect)
    case client(ClientFailure)
    case proof(DPoPDefect)
    /// - Parameter fresh: The nonce for the next attempt.
    case nonce(NonceDefect, fresh: String)
    case subjectToken(SubjectTokenDefect)
    case exchange(ExchangeRefusal, profile: Profile, client: RefusedClient)
    case enrolment(EnrolmentRefusal)
    case handoff(HandoffRefusal)
    case code(CodeRefusal)
    case refresh(RefreshRefusal)
    case logout(LogoutRefusal)
    case revocation(RevocationRefusal)
    case event(EventRefusal)
    /// Over a rate limit: nothing was decided.
    case rate(RateLimited)

    struct RefusedClient: Sendable {
        let client: Client
        /// The maximum age of a login that helps; `nil`: any age.
        let maximumAuthenticationAge: Seconds?
        /// Where the user can add what is missing, if the user can and the URL is known.
        var authorizationURI: String?
    }

    struct ClientFailure: Sendable {
        let reason: ClientRefusal
        /// The registered client that the request named, if there is one.
        let client: ClientID?
        /// RFC 6749 §5.2: `true` makes the answer a 401 with a challenge.
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
        case .handoff(let refusal): refusal.row
        case .code(let refusal): refusal.row
        case .refresh(let refusal): refusal.row
        case .rate(let limited): limited.limit.row
        case .logout(let refusal): refusal.row
        case .revocation(let refusal): refusal.row
        case .event(let refusal): refusal.row
        }
    }

    /// For the log: what exactly is wrong with an identity provider's answer; `nil`: nothing.
    var fault: String? {
        if case .code(let refusal) = self { refusal.answerFault?.reason } else { nil }
    }

    /// `nil` for wire faults, unknown paths and wrong methods: network noise must not reach the database.
    func auditKind(of grant: GrantLabel) -> AuditEvent.Kind? {
        switch self {
        case .wire, .request(.unknownPath), .request(.method): nil
        case .request, .form, .parameter, .client, .proof, .nonce, .rate, .revocation, .event: .requestRefused
        case .subjectToken where grant == .enrolment: .enrolmentRefused
        case .subjectToken, .exchange:
            grant == .handoff || grant == .handoffRedemption ? .handoffRefused : .exchangeRefused
        case .handoff: .handoffRefused
        case .enrolment, .code: .enrolmentRefused
        case .refresh: .refreshRefused
        case .logout: .logoutRefused
        }
    }
}

extension Refusal {
    /// The refusal of a hand-off. Its answer sends the user to a login in every profile, because a web app has none. The
    /// broker cannot name the URL: which client logs the user in is for the apps to say.
    init(_ failure: HandoffFailure) {
        switch failure {
        case .handoff(let refusal): self = .handoff(refusal)
        case .providerSuspended: self = .request(.providerSuspended)
        case .exchange(let refusal, let client):
            self = .exchange(
                refusal, profile: .deviceSecret,
                client: RefusedClient(
                    client: client, maximumAuthenticationAge: refusal.maximumAuthenticationAge(for: client)))
        }
    }
}

extension HandoffFailure {
    package var row: RefusalRow { Refusal(self).row }
}

/// Why the endpoint refuses a request before the grant's rules.
package enum RequestRefusal: Sendable, CaseIterable {
    // HTTP
    case unknownPath
    case method
    case contentType
    /// At the endpoints for security events and global token revocation.
    case eventContentType
    case contentEncoding
    /// RFC 6749 §2.3.1: credentials must not be in the URI. The broker refuses every query.
    case query
    case authorizationRepeated

    // The form of client authentication
    /// RFC 6749 §2.3: one mechanism per request.
    case severalMechanisms
    case clientIDMismatch
    case grantNotAllowed
    /// RFC 9449 §5.2.
    case proofRequired

    // Exchange
    case audienceUnknown
    /// The configuration disables the identity provider.
    case providerDisabled
    /// An operator suspended the identity provider at run time.
    case providerSuspended
    case profileNotEnabled
    case hyphenatedTokenType
    case actorTokenMalformed
    /// This issuer has no enrolment by exchange.
    case enrolmentNotEnabled
    /// This issuer has no code relay.
    case relayNotEnabled
    case deviceIDMalformed
    case profileNotEnabledForCode
}

/// Why client authentication failed. The client gets the same answer for each.
package enum ClientRefusal: Error, Sendable, CaseIterable {
    case missing
    case unknown
    case disabled
    /// The client is registered for another method. A weaker method never replaces a stronger one.
    case methodMismatch
    /// The secret matches no secret of the client.
    case authenticationFailed
    case malformedBasic
    case unknownScheme
    /// `client_secret` in the body: not supported.
    case postedSecret

    // A client assertion, RFC 7523 §3
    /// `client_assertion` is missing, or `client_assertion_type` is missing or unknown.
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
    /// Used before, at any replica.
    case assertionReplayed
}
