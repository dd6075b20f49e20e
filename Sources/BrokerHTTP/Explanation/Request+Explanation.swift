import OAuthWire

extension RequestRefusal {
    var explanation: RefusalExplanation {
        switch self {
        case .unknownPath:
            .init("there is nothing at this path", "The token endpoint is POST /token, and all there is.")
        case .method: .init("the method is not POST", "Send POST.")
        case .contentType:
            .init(
                "the body is not declared as a form",
                "Send Content-Type: application/x-www-form-urlencoded; JSON is not accepted (RFC 6749 §3.2).")
        case .contentEncoding: .init("the body is compressed", "Send it as it is, without Content-Encoding.")
        case .query:
            .init("the URL has a query", "Send every parameter in the body: a URL ends up in logs (RFC 6749 §2.3.1).")
        case .authorizationRepeated: .init("there are several Authorization headers", "Send one, or none.")
        case .severalMechanisms:
            .init(
                "the client proves who it is in more than one way",
                "Use one: the Authorization header, or client_assertion, or, for an app on a device, client_id alone.")
        case .clientIDMismatch:
            .init("client_id and the client's proof name two clients", "Send the same identifier in both.")
        case .grantNotAllowed:
            .init(
                "the client is not registered for this grant type",
                "The operator registers it for that grant.")
        case .proofRequired:
            .init(
                "the client is registered with DPoP required, and there is no DPoP header",
                "Send a proof with each request (RFC 9449 §5).")
        case .audienceUnknown:
            .init(
                "audience names no identity provider of this broker",
                "Send the iss of the id_token, or an alias that the operator configured in audience_aliases.")
        case .profileNotEnabled:
            .init(
                "actor_token_type belongs to a profile that this identity provider is not configured for",
                "Use another actor_token_type, or let the operator add the profile to profiles.")
        case .hyphenatedTokenType:
            .init(
                "subject_token_type is spelled id-token",
                "Spell it urn:ietf:params:oauth:token-type:id_token; legacy_id_token_type allows the older spelling.")
        case .actorTokenMalformed:
            .init(
                "the device value has a length or characters that no such value has",
                "Send it as it lies in the keychain: printable ASCII, a device_id of 22 to 512 characters.")
        case .enrolmentNotEnabled:
            .init(
                "requested_token_type asks for an enrolment, and this identity provider has none",
                "Ask for an access token, or let the operator set enrolment: exchange.")
        case .relayNotEnabled:
            .init(
                "codes of this identity provider are not redeemed here",
                "Redeem them there, or let the operator set code_relay.")
        case .deviceIDMalformed:
            .init(
                "device_id has a length or characters that none has", "Send 22 to 512 characters of printable ASCII.")
        case .profileNotEnabledForCode:
            .init(
                "the code request is of a profile that this identity provider is not configured for",
                "Send device_id, or device_sso in scope, as profiles has it.")
        }
    }
}

extension FormError {
    var explanation: RefusalExplanation {
        switch self {
        case .tooManyParameters: .init("there are more than 32 parameters", "Send those of one grant.")
        case .malformedName:
            .init("the name of a parameter has characters that none has", "Encode the form with a library.")
        case .nameTooLong: .init("the name of a parameter is too long", "Encode the form with a library.")
        case .valueTooLong: .init("a parameter is longer than 16 KiB", "Send a smaller token.")
        case .malformedPercentEncoding:
            .init("a percent sign does not begin two hexadecimal digits", "Encode the form with a library, once.")
        case .invalidUTF8: .init("a parameter is not UTF-8", "Encode the form as UTF-8.")
        case .controlCharacter:
            .init("a parameter holds a control character", "Trim line ends from values that are read from files.")
        case .unescapedSemicolon: .init("a semicolon is not escaped", "Write it as %3B.")
        case .duplicateParameter:
            .init("a parameter appears twice", "Send each once, and several scopes in one, separated by spaces.")
        }
    }
}

extension ParameterDefect {
    var explanation: RefusalExplanation {
        switch self {
        case .grantTypeMissing: .init("grant_type is missing", "Send it.")
        case .grantTypeUnknown:
            .init(
                "grant_type is none that this endpoint has",
                "It has refresh_token, urn:ietf:params:oauth:grant-type:token-exchange and, with code_relay, authorization_code."
            )
        case .foreignParameter:
            .init("a parameter belongs to another grant type", "Leave it out: the request would mean two things.")
        case .subjectTokenMissing: .init("subject_token is missing", "Send the id_token of the app that logged in.")
        case .subjectTokenTypeMissing:
            .init("subject_token_type is missing", "Send urn:ietf:params:oauth:token-type:id_token.")
        case .subjectTokenTypeUnsupported:
            .init(
                "subject_token_type is not that of an id_token", "Send urn:ietf:params:oauth:token-type:id_token.")
        case .actorTokenMissing:
            .init("actor_token is missing", "Send the device_id or device_secret from the shared keychain.")
        case .actorTokenTypeMissing: .init("actor_token_type is missing", "Send the type of the device value.")
        case .actorTokenTypeUnsupported:
            .init(
                "actor_token_type is none that is known",
                "Send urn:openid:params:token-type:device-secret, or that of the profile in use.")
        case .requestedTokenTypeUnsupported:
            .init(
                "requested_token_type is none that is issued here",
                "Leave it out, or send urn:ietf:params:oauth:token-type:access_token.")
        case .audienceMissing: .init("audience is missing", "Send the iss of the id_token.")
        case .audienceRepeated: .init("audience appears twice", "Send one: the iss of the id_token.")
        case .resourcePresent:
            .init(
                "the request has a resource parameter",
                "Leave it out: the resource servers of a client's tokens are part of its registration.")
        case .scopeMalformed:
            .init("scope is no list of scope tokens", "Separate them by single spaces (RFC 6749 §3.3).")
        case .refreshTokenMissing: .init("refresh_token is missing", "Send it.")
        case .codeMissing: .init("code is missing", "Send what the authorization endpoint gave.")
        case .redirectURIMissing:
            .init("redirect_uri is missing", "Send the one of the authorization request.")
        case .codeVerifierMissing: .init("code_verifier is missing", "Send it: PKCE is not optional (RFC 7636).")
        }
    }
}
