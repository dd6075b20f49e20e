import NIOHTTP1
import NativeSSO
import OAuthWire

/// What the caller sees of a refusal.
struct RefusalAnswer: Sendable {
    let status: HTTPResponseStatus
    let body: OAuthErrorResponse
    var headers: [(name: String, value: String)] = []

    init(
        _ status: HTTPResponseStatus, _ body: OAuthErrorResponse, _ headers: [(name: String, value: String)] = []
    ) {
        self.status = status
        self.body = body
        self.headers = headers
    }

    static func invalidRequest(
        _ description: StaticString, _ status: HTTPResponseStatus = .badRequest,
        headers: [(name: String, value: String)] = []
    ) -> RefusalAnswer {
        RefusalAnswer(status, OAuthErrorResponse(.invalidRequest, description), headers)
    }

    static func badRequest(_ code: OAuthErrorCode, _ description: StaticString) -> RefusalAnswer {
        RefusalAnswer(.badRequest, OAuthErrorResponse(code, description))
    }

    /// State, binding, relationship: whatever it is, the caller learns nothing more.
    static let invalidGrant = badRequest(.invalidGrant, "The presented token or device value cannot be used.")

    /// One text for all that may be wrong with a proof; which it is stands in the log.
    static let invalidProof = badRequest(.invalidDPoPProof, "The DPoP proof cannot be used.")

    static let invalidClient = OAuthErrorResponse(.invalidClient, "Client authentication failed.")
}

extension Refusal {
    /// The table. No `default`: a new refusal does not compile until someone has decided what it looks like from outside.
    var answer: RefusalAnswer {
        switch self {
        // RFC 9112 §3, §6, §7: what came is no request that could be trusted to end where it seems to.
        case .wire(.malformed), .wire(.chunkExtension), .wire(.trailers):
            .invalidRequest("The HTTP request is malformed.")
        case .wire(.host): .invalidRequest("Exactly one Host header is required, and it must name a host.")
        case .wire(.targetForm): .invalidRequest("The request target must be a path.")
        // RFC 9112 §3.
        case .wire(.targetTooLong): .invalidRequest("The request target is too long.", .uriTooLong)
        case .wire(.transferCoding): .invalidRequest("The transfer coding is not supported.")
        // RFC 9110 §15.5.9, §15.5.14, §15.5.18; RFC 6585 §5.
        case .wire(.headerTimeout), .wire(.bodyTimeout):
            .invalidRequest("The request took too long to arrive.", .requestTimeout)
        case .wire(.bodyTooLarge): .invalidRequest("The body is too large.", .payloadTooLarge)
        // RFC 9110 §15.6.4: nothing was judged, as with too many requests.
        case .wire(.bodyMemory):
            RefusalAnswer(
                .serviceUnavailable,
                OAuthErrorResponse(.temporarilyUnavailable, "The service is temporarily unavailable."),
                [("Retry-After", "1")])
        case .wire(.expectation): .invalidRequest("The expectation is not supported.", .expectationFailed)
        case .wire(.headerTooLarge):
            .invalidRequest("The header is too large.", .requestHeaderFieldsTooLarge)

        // RFC 9110 §15.5.5, §15.5.6; RFC 6749 §3.2: POST, and only to the token endpoint.
        case .request(.unknownPath): .invalidRequest("There is nothing here.", .notFound)
        case .request(.method), .wire(.method):
            .invalidRequest("Only POST is allowed.", .methodNotAllowed, headers: [("Allow", "POST")])
        // RFC 6749 §3.2, §2.3.1, App. B.
        case .request(.contentType):
            .invalidRequest("The content type must be application/x-www-form-urlencoded.")
        case .request(.contentEncoding): .invalidRequest("The body must not be encoded.")
        case .request(.query): .invalidRequest("Parameters belong into the body.")
        case .form(.tooManyParameters), .form(.nameTooLong), .form(.valueTooLong):
            .invalidRequest("There are too many parameters, or one is too long.")
        case .form(.malformedName), .form(.malformedPercentEncoding), .form(.invalidUTF8), .form(.controlCharacter),
            .form(.unescapedSemicolon):
            .invalidRequest("The form is malformed.")
        case .form(.duplicateParameter): .invalidRequest("A parameter appears twice.")  // RFC 6749 §3.2

        // RFC 6749 §5.2.
        case .parameter(.grantTypeMissing): .invalidRequest("grant_type is required.")
        case .parameter(.grantTypeUnknown):
            .badRequest(.unsupportedGrantType, "The grant type is not supported.")
        case .parameter(.foreignParameter): .invalidRequest("A parameter belongs to another grant type.")

        // RFC 6749 §2.3, §5.2: "utilizes more than one mechanism for authenticating the client".
        case .request(.authorizationRepeated), .request(.severalMechanisms):
            .invalidRequest("Only one client authentication mechanism may be used.")
        case .request(.clientIDMismatch): .invalidRequest("The client identifiers differ.")
        // RFC 6749 §5.2: the status is 401 exactly if the client used the Authorization header.
        case .client(let failure) where failure.usedAuthorization:
            RefusalAnswer(
                .unauthorized, RefusalAnswer.invalidClient,
                [("WWW-Authenticate", "Basic realm=\"native-sso\", charset=\"UTF-8\"")])
        case .client, .exchange(.assertionReplayed, profile: _, client: _), .enrolment(.assertionReplayed),
            .refresh(.assertionReplayed):
            RefusalAnswer(.badRequest, RefusalAnswer.invalidClient)
        case .request(.grantNotAllowed):
            .badRequest(.unauthorizedClient, "The client may not use this grant type.")

        // RFC 9449 §5, §5.2, §8.
        case .proof: .invalidProof
        case .request(.proofRequired): .badRequest(.invalidDPoPProof, "A DPoP proof is required.")
        case .nonce(_, let fresh):
            RefusalAnswer(
                .badRequest, OAuthErrorResponse(.useDPoPNonce, "The DPoP proof needs the nonce of this answer."),
                [("DPoP-Nonce", fresh)])
        // RFC 9449 §5: a proof by another key than the chain's is none for it, and the chain lives on for who has the key.
        case .exchange(.proofReplayed, profile: _, client: _), .enrolment(.proofReplayed), .refresh(.proofReplayed),
            .refresh(.proofMissing), .refresh(.keyMismatch):
            .invalidProof

        // RFC 8693 §2.1, §2.2.2.
        case .parameter(.subjectTokenMissing): .invalidRequest("subject_token is required.")
        case .parameter(.subjectTokenTypeMissing): .invalidRequest("subject_token_type is required.")
        case .parameter(.subjectTokenTypeUnsupported), .request(.hyphenatedTokenType):
            .invalidRequest("The subject token type is not supported.")
        case .parameter(.actorTokenMissing): .invalidRequest("actor_token is required.")
        case .parameter(.actorTokenTypeMissing): .invalidRequest("actor_token_type is required.")
        case .parameter(.actorTokenTypeUnsupported), .request(.profileNotEnabled):
            .invalidRequest("The actor token type is not supported.")
        case .request(.actorTokenMalformed): .invalidRequest("The actor token is malformed.")
        case .parameter(.requestedTokenTypeUnsupported), .request(.enrolmentNotEnabled):
            .invalidRequest("The requested token type is not supported.")
        case .parameter(.audienceMissing): .invalidRequest("audience is required.")
        case .parameter(.audienceRepeated), .request(.audienceUnknown):
            .badRequest(.invalidTarget, "The audience must be one issuer known here.")
        case .parameter(.resourcePresent):
            .badRequest(.invalidTarget, "The resource parameter is not supported.")
        case .parameter(.scopeMalformed): .badRequest(.invalidScope, "The scope is malformed.")  // RFC 6749 §3.3
        case .parameter(.refreshTokenMissing): .invalidRequest("refresh_token is required.")  // RFC 6749 §6

        // RFC 6749 §4.1.3, RFC 7636 §4.5, Native SSO §3.2.
        case .parameter(.codeMissing): .invalidRequest("code is required.")
        case .parameter(.redirectURIMissing): .invalidRequest("redirect_uri is required.")
        case .parameter(.codeVerifierMissing): .invalidRequest("code_verifier is required.")
        case .request(.deviceIDMalformed): .invalidRequest("device_id is malformed.")
        case .request(.profileNotEnabledForCode): .invalidRequest("The profile is not supported.")
        case .request(.relayNotEnabled): .badRequest(.invalidTarget, "Codes of this issuer are not redeemed here.")
        case .code(let refusal): refusal.answer

        // RFC 8693 §2.2.2: form and cryptography of the subject token.
        case .exchange(.subjectToken, profile: _, client: _), .exchange(.mayActOther, profile: _, client: _):
            .invalidRequest("The subject token is not valid.")
        // Native SSO §4.3: one answer for all.
        case .exchange(.subjectTokenTooOld, profile: _, client: _),
            .exchange(.subjectTokenExpired, profile: _, client: _),
            .exchange(.deviceHashMismatch, profile: _, client: _),
            .exchange(.selfExchange, profile: _, client: _),
            .exchange(.sourceNotInGroup, profile: _, client: _),
            .exchange(.clientNotInGroup, profile: _, client: _),
            .exchange(.otherGroup, profile: _, client: _),
            .exchange(.directionForbidden, profile: _, client: _),
            .exchange(.audienceOutsideGroup, profile: _, client: _),
            .exchange(.clientDisabled, profile: _, client: _),
            .exchange(.sessionUnknown, profile: _, client: _),
            .exchange(.sessionEnded, profile: _, client: _),
            .exchange(.sessionExpired, profile: _, client: _),
            .exchange(.sessionIdle, profile: _, client: _),
            .exchange(.subjectMismatch, profile: _, client: _),
            .exchange(.deviceBlocked, profile: _, client: _),
            .exchange(.pinConflict, profile: _, client: _):
            .invalidGrant
        // RFC 6749 §3.3, Native SSO §4.1.
        case .exchange(.scopeLacksOpenID, profile: _, client: _):
            .badRequest(.invalidScope, "The scope must contain openid.")
        case .exchange(.scopeEmpty, profile: _, client: _),
            .exchange(.scopeExceedsClient, profile: _, client: _),
            .exchange(.scopeExceedsMember, profile: _, client: _):
            .badRequest(.invalidScope, "The scope is beyond what the client may have.")
        // Slides 6.3 for the older texts; Native SSO draft 07 §4.4.
        case .exchange(.consentRequired, profile: .deviceID, client: _),
            .exchange(.consentRequired, profile: .deviceSecretTransitional, client: _):
            .badRequest(.invalidScope, "The scope needs the consent of the user.")
        case .exchange(.assuranceInsufficient, profile: .deviceID, client: _),
            .exchange(.assuranceInsufficient, profile: .deviceSecretTransitional, client: _),
            .exchange(.loginAfterReplay, profile: .deviceID, client: _),
            .exchange(.loginAfterReplay, profile: .deviceSecretTransitional, client: _):
            .invalidGrant
        case .exchange(.consentRequired, profile: .deviceSecret, let client),
            .exchange(.assuranceInsufficient, profile: .deviceSecret, let client),
            .exchange(.loginAfterReplay, profile: .deviceSecret, let client):
            RefusalAnswer(.badRequest, client.interaction)

        // Enrolment: as for an exchange.
        case .enrolment(.idToken): .invalidRequest("The subject token is not valid.")
        case .enrolment(.otherClient), .enrolment(.expired), .enrolment(.stale), .enrolment(.deviceHashMismatch),
            .enrolment(.clientDisabled), .enrolment(.clientNotInGroup), .enrolment(.directionForbidden),
            .enrolment(.loginEnded), .enrolment(.deviceBlocked), .enrolment(.pinConflict), .enrolment(.tokenUsed):
            .invalidGrant
        // RFC 6749 §3.3, Native SSO §3.1.
        case .enrolment(.scopeLacksOpenID): .badRequest(.invalidScope, "The scope must contain openid.")
        case .enrolment(.scopeLacksDeviceSSO): .badRequest(.invalidScope, "The scope must contain device_sso.")
        case .enrolment(.scopeExceedsClient):
            .badRequest(.invalidScope, "The scope is beyond what the client may have.")

        // RFC 6749 §5.2, RFC 9700 §4.14: one answer for all.
        case .refresh(.tokenNotOurs), .refresh(.grantUnknown), .refresh(.grantRevoked), .refresh(.grantExpired),
            .refresh(.foreignClient), .refresh(.replayed), .refresh(.late), .refresh(.superseded),
            .refresh(.stateRegressed), .refresh(.clientDisabled), .refresh(.sharingEnded), .refresh(.sessionEnded),
            .refresh(.sessionExpired),
            .refresh(.sessionIdle), .refresh(.deviceBlocked), .refresh(.proofsOff):
            .invalidGrant
        // OpenID Connect Back-Channel Logout 1.0 §2.8.
        case .logout(.missing): .invalidRequest("logout_token is required.")
        case .logout: .invalidRequest("The logout token is not valid.")

        // RFC 6749 §6.
        case .refresh(.scopeExceedsGrant), .refresh(.scopeEmpty):
            .badRequest(.invalidScope, "The scope is beyond what was granted.")

        // RFC 6585 §4. Nothing that an app could take for the end of its login.
        case .rate(let limited):
            RefusalAnswer(
                .tooManyRequests, OAuthErrorResponse(.temporarilyUnavailable, "There are too many requests."),
                [("Retry-After", limited.retryAfter.count.description)])
        }
    }
}

extension Refusal.RefusedClient {
    /// Native SSO §4.4, in the words of RFC 9470 §3. What the client's policy demands of a login is said whatever the user is
    /// sent there for, so that no user is sent twice.
    fileprivate var interaction: OAuthErrorResponse {
        OAuthErrorResponse(
            .interactionRequired, "The user must log in through this client.",
            contextClasses: client.acceptedContextClasses,
            maximumAuthenticationAge: maximumAuthenticationAge?.count, authorizationURI: authorizationURI)
    }
}
