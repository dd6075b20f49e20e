// swift-format-ignore-file
// Rows of the table of refusals: see RefusalRow.swift.

package import HTTPServer
import NIOHTTP1
package import NativeSSO
package import OAuthWire

// MARK: HTTP

extension HTTPFault: RefusalCase {
    package var row: RefusalRow {
        switch self {
        // RFC 9112 §3, §6, §7.
        case .malformed: .init("http_malformed", .malformedHTTP, "the HTTP request is malformed (RFC 9112)",
            "Use an unmodified HTTP library, and check what a proxy between app and broker changes.")
        case .method: .init("http_method_unknown", .methodNotAllowed, "the method is unknown to HTTP", "Send POST, in capitals.")
        case .host: .init("http_host", .invalidRequest("Exactly one Host header is required, and it must name a host."),
            "there is no Host header, there are several, or it names no host",
            "Send exactly one: a host, with or without a port.")
        case .targetForm: .init("http_target_form", .invalidRequest("The request target must be a path."),
            "the request target is not a path", "Send POST /token, not a full URL.")
        case .transferCoding: .init("http_transfer_coding", .invalidRequest("The transfer coding is not supported."),
            "the transfer coding is not chunked", "Send a Content-Length, or chunks over HTTP/1.1.")
        case .trailers: .init("http_trailers", .malformedHTTP, "header fields follow the body", "Leave trailers out.")
        case .chunkExtension: .init("http_chunk_extension", .malformedHTTP, "a chunk has an extension",
            "Send chunks without extensions, or a Content-Length.")
        // RFC 9110 §15.5.9, §15.5.14, §15.5.15, §15.5.18; RFC 6585 §5.
        case .expectation: .init("http_expectation", .invalidRequest("The expectation is not supported.", .expectationFailed),
            "the Expect header asks for something unknown", "Leave it out, or send 100-continue.")
        case .targetTooLong: .init("http_target_too_long", .invalidRequest("The request target is too long.", .uriTooLong),
            "the request target is longer than 8 KiB", "Send POST /token; parameters belong in the body.")
        case .headerTooLarge: .init("http_header_too_large", .invalidRequest("The header is too large.", .requestHeaderFieldsTooLarge),
            "the header is larger than 16 KiB or has more than 64 fields", "Send no cookies to the broker.")
        case .bodyTooLarge: .init("http_body_too_large", .invalidRequest("The body is too large.", .payloadTooLarge),
            "the body is larger than 64 KiB", "Send the parameters of one grant and nothing else.")
        case .headerTimeout: .init("http_header_timeout", .requestTimeout, "the header took longer than 5 s to arrive",
            "Send the request again.")
        case .bodyTimeout: .init("http_body_timeout", .requestTimeout, "the body took longer than 10 s to arrive",
            "Send the request again.")
        // RFC 9110 §15.6.4: nothing was decided, as with too many requests.
        case .bodyMemory: .init("http_body_memory", .unavailable,
            "unfinished requests and unsent answers fill the memory that max_buffered_mib allows",
            "Send the request again after Retry-After.")
        }
    }
}

// MARK: The request as a whole

extension RequestRefusal: RefusalCase {
    package var row: RefusalRow {
        switch self {
        // RFC 9110 §15.5.5, §15.5.6; RFC 6749 §3.2.
        case .unknownPath: .init("http_unknown_path", .invalidRequest("There is nothing here.", .notFound),
            "there is nothing at this path", "Send POST /token: this listener serves nothing else.")
        case .method: .init("http_method", .methodNotAllowed, "the path does not take this method", "Send a method that the header Allow names. For /token that is POST.")
        // RFC 6749 §3.2, §2.3.1, App. B.
        case .contentType: .init("http_content_type", .invalidRequest("The content type must be application/x-www-form-urlencoded."),
            "the body is not declared as a form",
            "Send Content-Type: application/x-www-form-urlencoded; JSON is not accepted (RFC 6749 §3.2).")
        case .eventContentType: .init("http_event_content_type", .invalidRequest("The content type is not the one of this endpoint."),
            "the body is not declared as what this endpoint takes",
            "Send application/secevent+jwt to /security-events, and application/json to /global-token-revocation.")
        case .contentEncoding: .init("http_content_encoding", .invalidRequest("The body must not be encoded."),
            "the body is compressed", "Send it as it is, without Content-Encoding.")
        case .query: .init("http_query", .invalidRequest("Parameters belong into the body."), "the URL has a query",
            "Send every parameter in the body: a URL ends up in logs (RFC 6749 §2.3.1).")

        // RFC 6749 §2.3, §5.2.
        case .authorizationRepeated: .init("http_authorization_repeated", .severalMechanisms,
            "there are several Authorization headers", "Send one, or none.")
        case .severalMechanisms: .init("client_several_mechanisms", .severalMechanisms,
            "the client authenticates in more than one way",
            "Use one of three: the Authorization header, client_assertion, or, for an app on a device, client_id alone.")
        case .clientIDMismatch: .init("client_id_mismatch", .invalidRequest("The client identifiers differ."),
            "client_id and the client's credentials name two clients", "Send the same identifier in both.")
        case .grantNotAllowed: .init("grant_not_allowed", .badRequest(.unauthorizedClient, "The client may not use this grant type."),
            "the client is not registered for this grant type", "The operator registers it for that grant.")
        // RFC 9449 §5.2.
        case .proofRequired: .init("dpop_proof_required", .badRequest(.invalidDPoPProof, "A DPoP proof is required."),
            "the client is registered with DPoP required, and there is no DPoP header",
            "Send a proof with each request (RFC 9449 §5).")

        // RFC 8693 §2.1, §2.2.2.
        case .audienceUnknown: .init("audience_unknown", .unknownAudience, "audience names no identity provider of this broker",
            "Send the iss of the id_token, or an alias that the operator configured in audience_aliases.")
        case .providerDisabled: .init("idp_disabled", .invalidRequest("This identity provider is disabled."),
            "the configuration says disabled: true for the identity provider, so that the broker takes no login from it",
            "Log in at another identity provider, or let the operator remove disabled: true.")
        case .providerSuspended: .init("idp_suspended",
            .badRequest(.invalidTarget, "Logins of this identity provider are suspended."),
            "an operator has suspended the identity provider, so that the broker takes no login from it",
            "Keep the login and try again later. The operator resumes it with native-sso idp resume.")
        case .profileNotEnabled: .init("profile_not_enabled", .unsupportedActorTokenType,
            "actor_token_type belongs to a profile that this identity provider is not configured for",
            "Use another actor_token_type, or let the operator add the profile to profiles.")
        case .hyphenatedTokenType: .init("subject_token_type_hyphenated", .unsupportedSubjectTokenType,
            "subject_token_type is spelled id-token",
            "Spell it urn:ietf:params:oauth:token-type:id_token; legacy_id_token_type allows the older spelling.")
        case .actorTokenMalformed: .init("actor_token_malformed", .invalidRequest("The actor token is malformed."),
            "the device value has a length or characters that the broker does not accept",
            "Send it exactly as the keychain holds it: printable ASCII, a device_id of 22 to 512 characters.")
        case .enrolmentNotEnabled: .init("enrolment_not_enabled", .unsupportedRequestedTokenType,
            "requested_token_type asks for an enrolment, and this identity provider has none",
            "Ask for an access token, or let the operator set enrolment: exchange.")

        // RFC 6749 §4.1.3, Native SSO §3.2.
        case .relayNotEnabled: .init("code_relay_not_enabled", .badRequest(.invalidTarget, "Codes of this issuer are not redeemed here."),
            "the broker does not redeem codes of this identity provider",
            "Redeem the code at the identity provider, or let the operator set code_relay.")
        case .deviceIDMalformed: .init("device_id_malformed", .invalidRequest("device_id is malformed."),
            "device_id has a length or characters that the broker does not accept",
            "Send 22 to 512 characters of printable ASCII.")
        case .profileNotEnabledForCode: .init("code_profile_not_enabled", .invalidRequest("The profile is not supported."),
            "the code request uses a profile that this identity provider is not configured for",
            "Send device_id, or the scope device_sso, whichever profiles allows.")
        }
    }
}

// MARK: The form. RFC 6749 §3.2, App. B

extension FormError: RefusalCase {
    package var row: RefusalRow {
        switch self {
        case .tooManyParameters: .init("form_too_many_parameters", .formTooLarge, "there are more than 32 parameters",
            "Send the parameters of one grant only.")
        case .malformedName: .init("form_malformed_name", .malformedForm,
            "the name of a parameter has characters that RFC 6749 §8.2 does not allow", "Encode the form with a library.")
        case .nameTooLong: .init("form_name_too_long", .formTooLarge, "the name of a parameter is too long",
            "Encode the form with a library.")
        case .valueTooLong: .init("form_value_too_long", .formTooLarge, "a parameter is longer than 16 KiB",
            "Send a smaller token.")
        case .malformedPercentEncoding: .init("form_malformed_percent_encoding", .malformedForm,
            "a percent sign does not begin two hexadecimal digits", "Encode the form with a library, once.")
        case .invalidUTF8: .init("form_invalid_utf8", .malformedForm, "a parameter is not UTF-8", "Encode the form as UTF-8.")
        case .controlCharacter: .init("form_control_character", .malformedForm, "a parameter holds a control character",
            "Trim line ends from values that are read from files.")
        case .unescapedSemicolon: .init("form_unescaped_semicolon", .malformedForm, "a semicolon is not escaped",
            "Write it as %3B.")
        case .duplicateParameter: .init("form_duplicate_parameter", .invalidRequest("A parameter appears twice."),
            "a parameter appears twice", "Send each once, and several scopes in one, separated by spaces.")
        }
    }
}

extension ParameterDefect: RefusalCase {
    package var row: RefusalRow {
        switch self {
        // RFC 6749 §5.2.
        case .grantTypeMissing: .init("grant_type_missing", .invalidRequest("grant_type is required."), "grant_type is missing",
            "Send it.")
        case .grantTypeUnknown: .init("grant_type_unknown", .badRequest(.unsupportedGrantType, "The grant type is not supported."),
            "this endpoint does not support the grant_type",
            "Send refresh_token, urn:ietf:params:oauth:grant-type:token-exchange or, with code_relay, authorization_code.")
        case .foreignParameter: .init("parameter_of_other_grant", .invalidRequest("A parameter belongs to another grant type."),
            "a parameter belongs to another grant type", "Leave it out: the broker does not guess which grant is meant.")

        // RFC 8693 §2.1, §2.2.2.
        case .subjectTokenMissing: .init("subject_token_missing", .invalidRequest("subject_token is required."),
            "subject_token is missing", "Send the id_token of the app that logged in.")
        case .subjectTokenTypeMissing: .init("subject_token_type_missing", .invalidRequest("subject_token_type is required."),
            "subject_token_type is missing", "Send urn:ietf:params:oauth:token-type:id_token.")
        case .subjectTokenTypeUnsupported: .init("subject_token_type_unsupported", .unsupportedSubjectTokenType,
            "subject_token_type is not that of an id_token", "Send urn:ietf:params:oauth:token-type:id_token.")
        case .actorTokenMissing: .init("actor_token_missing", .invalidRequest("actor_token is required."),
            "actor_token is missing", "Send the device_id or device_secret from the shared keychain.")
        case .actorTokenTypeMissing: .init("actor_token_type_missing", .invalidRequest("actor_token_type is required."),
            "actor_token_type is missing", "Send the type of the device value.")
        case .actorTokenTypeUnsupported: .init("actor_token_type_unsupported", .unsupportedActorTokenType,
            "the broker does not know the actor_token_type",
            "Send urn:openid:params:token-type:device-secret, or that of the profile in use.")
        case .requestedTokenTypeUnsupported: .init("requested_token_type_unsupported", .unsupportedRequestedTokenType,
            "the broker does not issue the requested_token_type",
            "Leave it out, or send urn:ietf:params:oauth:token-type:access_token.")
        case .audienceMissing: .init("audience_missing", .invalidRequest("audience is required."), "audience is missing",
            "Send the iss of the id_token.")
        case .audienceRepeated: .init("audience_repeated", .unknownAudience, "audience appears twice",
            "Send one: the iss of the id_token.")
        case .resourcePresent: .init("resource_present", .badRequest(.invalidTarget, "The resource parameter is not supported."),
            "a request that enrols a login has a resource parameter",
            "Leave it out: this request gets no access token of the broker. Send it with an exchange or a refresh.")
        case .resourceRepeated: .init("resource_repeated", .unknownResource, "resource appears twice",
            "Send one, or none for all audiences of the client.")
        case .resourceForeign: .init("resource_foreign", .unknownResource, "resource is not one of the client's audiences",
            "Send one of them. The operator adds an audience with native-sso client update --audience.")
        // The hand-off to a web app.
        case .handoffClientMissing: .init("handoff_client_missing", .invalidRequest("handoff_client is required."),
            "handoff_client is missing, or is no client_id", "Send the client_id of the web app that is to receive the login.")
        case .handoffOriginMissing: .init("handoff_origin_missing", .invalidRequest("handoff_origin is required."),
            "handoff_origin is missing", "Send the origin of the web app, such as https://web.example.com.")
        case .handoffOriginMalformed: .init("handoff_origin_malformed", .invalidRequest("handoff_origin is malformed."),
            "handoff_origin is not an https origin as browsers write it",
            "Send scheme, host and, if it is not 443, port, in lower case, without a path or a slash at the end.")
        case .handoffChallengeMissing: .init("handoff_challenge_missing", .invalidRequest("handoff_challenge is required."),
            "handoff_challenge is missing", "Send the challenge that the web app gave to the app when it opened it.")
        case .handoffChallengeMalformed: .init("handoff_challenge_malformed", .invalidRequest("handoff_challenge is malformed."),
            "handoff_challenge is not the base64url text of a SHA-256 digest",
            "The web app sends base64url of SHA-256 of its verifier, 43 characters, and the app passes it on unchanged.")
        case .handoffVerifierMissing: .init("handoff_verifier_missing", .invalidRequest("handoff_verifier is required."),
            "handoff_verifier is missing", "Send the verifier that the web app keeps with the browser's session.")
        // RFC 6749 §3.3, §6.
        case .scopeMalformed: .init("scope_malformed", .invalidScope("The scope is malformed."),
            "scope is not a list of scope tokens", "Separate them by single spaces (RFC 6749 §3.3).")
        case .refreshTokenMissing: .init("refresh_token_missing", .invalidRequest("refresh_token is required."),
            "refresh_token is missing", "Send it.")
        // RFC 6749 §4.1.3, RFC 7636 §4.5.
        case .codeMissing: .init("code_missing", .invalidRequest("code is required."), "code is missing",
            "Send the code from the authorization endpoint.")
        case .redirectURIMissing: .init("redirect_uri_missing", .invalidRequest("redirect_uri is required."),
            "redirect_uri is missing", "Send the one of the authorization request.")
        case .codeVerifierMissing: .init("code_verifier_missing", .invalidRequest("code_verifier is required."),
            "code_verifier is missing", "Send it: PKCE is not optional (RFC 7636).")
        case .tokenMissing: .init("token_missing", .invalidRequest("token is required."), "token is missing",
            "Send the token to be revoked or introspected.")
        }
    }
}

// MARK: Limits. RFC 6585 §4: nothing that an app could take for the end of its login

extension RateLimited.Limit: RefusalCase {
    package var row: RefusalRow { RefusalRow(words, .tooMany) }

    private var words: RefusalRow.Words {
        switch self {
        case .listener: ("rate_limited_listener", "all clients together made more requests than limits.listener allows",
            "Wait for Retry-After. The operator checks which networks send them, and whether the limit fits the apps.")
        case .logout: ("rate_limited_logout",
            "one address sent more logout tokens than limits.logout allows: of one identity provider, or without a valid signature",
            "Send the same logout token again after Retry-After. The operator checks who can reach the internal listener.")
        case .address: ("rate_limited_address", "too many requests came from one address",
            "Wait for Retry-After. Behind a proxy, name it in public.trusted_proxies; the limit is limits.address.")
        case .network: ("rate_limited_network", "too many requests came from one network",
            "Wait for Retry-After; the limit is limits.network.")
        case .client: ("rate_limited_client", "the client made too many requests",
            "Wait for Retry-After, and look for a loop in the app; the limit is limits.client.")
        case .clientFailures: ("rate_limited_client_failures",
            "the client failed to authenticate too often, from one address",
            "Correct its credentials first: the right ones always pass; the limit is limits.client_failures.")
        case .session: ("rate_limited_session", "the app used this login too often",
            "Wait for Retry-After. Keep the access token until it expires; the limit is limits.session.")
        case .user: ("rate_limited_user", "the user's logins were exchanged too often",
            "Wait for Retry-After, and refresh instead of exchanging again; the limit is limits.user.")
        case .device: ("rate_limited_device", "the device made too many exchanges",
            "Wait for Retry-After, and refresh instead of exchanging again; the limit is limits.device.")
        case .code: ("rate_limited_code", "one address has brought codes more often than limits.code allows",
            "Wait for Retry-After: the code was not sent. Behind a proxy, name it in public.trusted_proxies.")
        case .deviceFailures: ("rate_limited_device_failures", "too many wrong device values were sent for this login",
            "Wait for Retry-After, and read id_token and device value from the same keychain item. If no app did this, an attacker has a copy of the id_token.")
        }
    }
}
