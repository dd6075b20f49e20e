import NIOHTTP1
import NativeSSO
import OAuthWire

/// The caller's view of a refusal.
struct RefusalAnswer: Sendable {
    var status: HTTPResponseStatus
    var body: OAuthErrorResponse
    var headers: [(name: String, value: String)] = []

    static func badRequest(_ code: OAuthErrorCode, _ description: StaticString) -> RefusalAnswer {
        RefusalAnswer(status: .badRequest, body: OAuthErrorResponse(code, description))
    }

    static func invalidRequest(
        _ description: StaticString, _ status: HTTPResponseStatus = .badRequest,
        headers: [(name: String, value: String)] = []
    ) -> RefusalAnswer {
        RefusalAnswer(status: status, body: OAuthErrorResponse(.invalidRequest, description), headers: headers)
    }

    static func invalidScope(_ description: StaticString) -> RefusalAnswer { badRequest(.invalidScope, description) }

    /// For every refusal that depends on state, binding or relationship: the caller learns nothing more.
    static let invalidGrant = badRequest(.invalidGrant, "The presented token or device value cannot be used.")

    /// For every defect of a proof; the log has the reason.
    static let invalidProof = badRequest(.invalidDPoPProof, "The DPoP proof cannot be used.")

    static let invalidClient = badRequest(.invalidClient, "Client authentication failed.")

    /// Native SSO §4.4.
    static let interactionRequired = badRequest(.interactionRequired, "The user must log in through this client.")

    static let useNonce = badRequest(.useDPoPNonce, "The DPoP proof needs the nonce of this answer.")

    static let tooMany = RefusalAnswer(
        status: .tooManyRequests,
        body: OAuthErrorResponse(.temporarilyUnavailable, "There are too many requests."))

    static let unavailable = unavailable(1)

    /// For a token whose key is unknown until another look.
    static func undecided(_ retryAfter: Seconds) -> RefusalAnswer {
        unavailable(retryAfter, "The token names a key that is not known yet.")
    }

    private static func unavailable(
        _ retryAfter: Seconds, _ description: StaticString = "The service is temporarily unavailable."
    ) -> RefusalAnswer {
        RefusalAnswer(
            status: .serviceUnavailable, body: OAuthErrorResponse(.temporarilyUnavailable, description),
            headers: [("Retry-After", retryAfter.count.description)])
    }
}

/// Answers of several rows.
extension RefusalAnswer {
    static let malformedHTTP = invalidRequest("The HTTP request is malformed.")
    static let methodNotAllowed = invalidRequest(
        "Only POST is allowed.", .methodNotAllowed, headers: [("Allow", "POST")])
    static let requestTimeout = invalidRequest("The request took too long to arrive.", .requestTimeout)
    static let severalMechanisms = invalidRequest("Only one client authentication mechanism may be used.")
    static let malformedForm = invalidRequest("The form is malformed.")
    static let formTooLarge = invalidRequest("There are too many parameters, or one is too long.")
    static let unsupportedSubjectTokenType = invalidRequest("The subject token type is not supported.")
    static let unsupportedActorTokenType = invalidRequest("The actor token type is not supported.")
    static let unsupportedRequestedTokenType = invalidRequest("The requested token type is not supported.")
    static let unknownAudience = badRequest(.invalidTarget, "The audience must be one issuer known here.")
    static let unknownResource = badRequest(.invalidTarget, "The resource must be one audience of the client.")
    static let invalidSubjectToken = invalidRequest("The subject token is not valid.")
    static let invalidLogoutToken = invalidRequest("The logout token is not valid.")
    static let invalidEventToken = badRequest(.invalidToken, "The token is not valid.")
    static let invalidEventSubject = invalidRequest("The subject is missing, malformed or not supported.")
    static let scopeBeyondClient = invalidScope("The scope is beyond what the client may have.")
    static let scopeBeyondGrant = invalidScope("The scope is beyond what was granted.")
}

extension Refusal {
    /// The row's answer, completed with this request's own details.
    var answer: RefusalAnswer {
        var answer = row.answer
        switch self {
        // RFC 6749 §5.2: the status is 401 exactly if the client used the Authorization header.
        case .client(let failure):
            if failure.usedAuthorization {
                answer.status = .unauthorized
                answer.headers = [("WWW-Authenticate", "Basic realm=\"native-sso\", charset=\"UTF-8\"")]
            }
        case .nonce(_, let fresh): answer.headers = [("DPoP-Nonce", fresh)]
        case .rate(let limited): answer.headers = [("Retry-After", limited.retryAfter.count.description)]
        case .exchange(_, profile: .deviceSecret, let client):
            if let interaction = row.inDraft07 {
                answer = interaction
                answer.body = client.demanding(interaction.body)
            }
        case .exchange(_, profile: .deviceID, client: _), .exchange(_, profile: .deviceSecretTransitional, client: _),
            .wire, .request, .form, .parameter, .proof, .subjectToken, .enrolment, .handoff, .code, .refresh, .logout,
            .revocation, .event:
            break
        }
        return answer
    }
}

extension Refusal.RefusedClient {
    /// Adds the client policy's demands on a login, in the terms of RFC 9470 §3. They accompany every reason for a
    /// login, so that one login meets all of them.
    fileprivate func demanding(_ answer: OAuthErrorResponse) -> OAuthErrorResponse {
        OAuthErrorResponse(
            answer.error, answer.description, contextClasses: client.acceptedContextClasses,
            maximumAuthenticationAge: maximumAuthenticationAge?.count, authorizationURI: authorizationURI)
    }
}
