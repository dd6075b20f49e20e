// swift-format-ignore-file
// The rows keep the layout of a table: what the caller sees first, then cause and remedy.

import HTTPServer
package import JOSE
import NIOHTTP1
package import NativeSSO
package import OAuthWire

// Every refusal of the broker, one row each: reason, answer, cause, remedy.
//
// - The reason is what log, audit and metrics call it.
// - The answer is all that the caller learns. Everything that depends on state has one answer: ``RefusalAnswer/invalidGrant``.
// - Cause and remedy are for the app's developer and the operator, who ask by request id (`native-sso explain`).
//   A cause completes "refused because …"; a remedy is made of sentences.
//
// No switch has a `default`: a new case does not compile until it has its row.

// MARK: HTTP

extension HTTPFault: RefusalCase {
    package var row: RefusalRow {
        switch self {
        // RFC 9112 §3, §6, §7.
        case .malformed: .init("http_malformed", .malformedHTTP,
            "the HTTP request is malformed (RFC 9112)",
            "Use an unmodified HTTP library, and check what a proxy between app and broker changes.")
        case .method: .init("http_method_unknown", .methodNotAllowed,
            "the method is unknown to HTTP", "Send POST, in capitals.")
        case .host: .init("http_host", .invalidRequest("Exactly one Host header is required, and it must name a host."),
            "there is no Host header, there are several, or it names no host",
            "Send exactly one: a host, with or without a port.")
        case .targetForm: .init("http_target_form", .invalidRequest("The request target must be a path."),
            "the request target is not a path", "Send POST /token, not a full URL.")
        case .transferCoding: .init("http_transfer_coding", .invalidRequest("The transfer coding is not supported."),
            "the transfer coding is not chunked", "Send a Content-Length, or chunks over HTTP/1.1.")
        case .trailers: .init("http_trailers", .malformedHTTP, "header fields follow the body", "Leave trailers out.")
        case .chunkExtension: .init("http_chunk_extension", .malformedHTTP,
            "a chunk has an extension", "Send chunks without extensions, or a Content-Length.")
        // RFC 9110 §15.5.9, §15.5.14, §15.5.15, §15.5.18; RFC 6585 §5.
        case .expectation: .init("http_expectation", .invalidRequest("The expectation is not supported.", .expectationFailed),
            "the Expect header asks for something unknown", "Leave it out, or send 100-continue.")
        case .targetTooLong: .init("http_target_too_long", .invalidRequest("The request target is too long.", .uriTooLong),
            "the request target is longer than 8 KiB", "Send POST /token; parameters belong in the body.")
        case .headerTooLarge: .init("http_header_too_large", .invalidRequest("The header is too large.", .requestHeaderFieldsTooLarge),
            "the header is larger than 16 KiB or has more than 64 fields", "Send no cookies to the broker.")
        case .bodyTooLarge: .init("http_body_too_large", .invalidRequest("The body is too large.", .payloadTooLarge),
            "the body is larger than 64 KiB", "Send the parameters of one grant and nothing else.")
        case .headerTimeout: .init("http_header_timeout", .requestTimeout,
            "the header took longer than 5 s to arrive", "Send the request again.")
        case .bodyTimeout: .init("http_body_timeout", .requestTimeout,
            "the body took longer than 10 s to arrive", "Send the request again.")
        // RFC 9110 §15.6.4: nothing was judged, as with too many requests.
        case .bodyMemory: .init("http_body_memory", .unavailable,
            "unread bodies and unsent answers fill the memory that max_buffered_mib allows",
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
        case .method: .init("http_method", .methodNotAllowed, "the method is not POST", "Send POST.")
        // RFC 6749 §3.2, §2.3.1, App. B.
        case .contentType: .init("http_content_type", .invalidRequest("The content type must be application/x-www-form-urlencoded."),
            "the body is not declared as a form",
            "Send Content-Type: application/x-www-form-urlencoded; JSON is not accepted (RFC 6749 §3.2).")
        case .contentEncoding: .init("http_content_encoding", .invalidRequest("The body must not be encoded."),
            "the body is compressed", "Send it as it is, without Content-Encoding.")
        case .query: .init("http_query", .invalidRequest("Parameters belong into the body."),
            "the URL has a query", "Send every parameter in the body: a URL ends up in logs (RFC 6749 §2.3.1).")

        // RFC 6749 §2.3, §5.2.
        case .authorizationRepeated: .init("http_authorization_repeated", .severalMechanisms,
            "there are several Authorization headers", "Send one, or none.")
        case .severalMechanisms: .init("client_several_mechanisms", .severalMechanisms,
            "the client authenticates in more than one way",
            "Use one: the Authorization header, or client_assertion, or, for an app on a device, client_id alone.")
        case .clientIDMismatch: .init("client_id_mismatch", .invalidRequest("The client identifiers differ."),
            "client_id and the client's credentials name two clients", "Send the same identifier in both.")
        case .grantNotAllowed: .init("grant_not_allowed", .badRequest(.unauthorizedClient, "The client may not use this grant type."),
            "the client is not registered for this grant type", "The operator registers it for that grant.")
        // RFC 9449 §5.2.
        case .proofRequired: .init("dpop_proof_required", .badRequest(.invalidDPoPProof, "A DPoP proof is required."),
            "the client is registered with DPoP required, and there is no DPoP header",
            "Send a proof with each request (RFC 9449 §5).")

        // RFC 8693 §2.1, §2.2.2.
        case .audienceUnknown: .init("audience_unknown", .unknownAudience,
            "audience names no identity provider of this broker",
            "Send the iss of the id_token, or an alias that the operator configured in audience_aliases.")
        case .profileNotEnabled: .init("profile_not_enabled", .unsupportedActorTokenType,
            "actor_token_type belongs to a profile that this identity provider is not configured for",
            "Use another actor_token_type, or let the operator add the profile to profiles.")
        case .hyphenatedTokenType: .init("subject_token_type_hyphenated", .unsupportedSubjectTokenType,
            "subject_token_type is spelled id-token",
            "Spell it urn:ietf:params:oauth:token-type:id_token; legacy_id_token_type allows the older spelling.")
        case .actorTokenMalformed: .init("actor_token_malformed", .invalidRequest("The actor token is malformed."),
            "the device value has a length or characters that the broker does not accept",
            "Send it as it lies in the keychain: printable ASCII, a device_id of 22 to 512 characters.")
        case .enrolmentNotEnabled: .init("enrolment_not_enabled", .unsupportedRequestedTokenType,
            "requested_token_type asks for an enrolment, and this identity provider has none",
            "Ask for an access token, or let the operator set enrolment: exchange.")

        // RFC 6749 §4.1.3, Native SSO §3.2.
        case .relayNotEnabled: .init("code_relay_not_enabled", .badRequest(.invalidTarget, "Codes of this issuer are not redeemed here."),
            "codes of this identity provider are not redeemed here",
            "Redeem them there, or let the operator set code_relay.")
        case .deviceIDMalformed: .init("device_id_malformed", .invalidRequest("device_id is malformed."),
            "device_id has a length or characters that the broker does not accept",
            "Send 22 to 512 characters of printable ASCII.")
        case .profileNotEnabledForCode: .init("code_profile_not_enabled", .invalidRequest("The profile is not supported."),
            "the code request is of a profile that this identity provider is not configured for",
            "Send device_id, or device_sso in scope, as profiles has it.")
        }
    }
}

// MARK: The form. RFC 6749 §3.2, App. B

extension FormError: RefusalCase {
    package var row: RefusalRow {
        switch self {
        case .tooManyParameters: .init("form_too_many_parameters", .formTooLarge,
            "there are more than 32 parameters", "Send those of one grant.")
        case .malformedName: .init("form_malformed_name", .malformedForm,
            "the name of a parameter has characters that RFC 6749 §8.2 does not allow",
            "Encode the form with a library.")
        case .nameTooLong: .init("form_name_too_long", .formTooLarge,
            "the name of a parameter is too long", "Encode the form with a library.")
        case .valueTooLong: .init("form_value_too_long", .formTooLarge,
            "a parameter is longer than 16 KiB", "Send a smaller token.")
        case .malformedPercentEncoding: .init("form_malformed_percent_encoding", .malformedForm,
            "a percent sign does not begin two hexadecimal digits", "Encode the form with a library, once.")
        case .invalidUTF8: .init("form_invalid_utf8", .malformedForm,
            "a parameter is not UTF-8", "Encode the form as UTF-8.")
        case .controlCharacter: .init("form_control_character", .malformedForm,
            "a parameter holds a control character", "Trim line ends from values that are read from files.")
        case .unescapedSemicolon: .init("form_unescaped_semicolon", .malformedForm,
            "a semicolon is not escaped", "Write it as %3B.")
        case .duplicateParameter: .init("form_duplicate_parameter", .invalidRequest("A parameter appears twice."),
            "a parameter appears twice", "Send each once, and several scopes in one, separated by spaces.")
        }
    }
}

extension ParameterDefect: RefusalCase {
    package var row: RefusalRow {
        switch self {
        // RFC 6749 §5.2.
        case .grantTypeMissing: .init("grant_type_missing", .invalidRequest("grant_type is required."),
            "grant_type is missing", "Send it.")
        case .grantTypeUnknown: .init("grant_type_unknown", .badRequest(.unsupportedGrantType, "The grant type is not supported."),
            "this endpoint does not support the grant_type",
            "Send refresh_token, urn:ietf:params:oauth:grant-type:token-exchange or, with code_relay, authorization_code.")
        case .foreignParameter: .init("parameter_of_other_grant", .invalidRequest("A parameter belongs to another grant type."),
            "a parameter belongs to another grant type",
            "Leave it out: the broker does not guess which grant is meant.")

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
        case .audienceMissing: .init("audience_missing", .invalidRequest("audience is required."),
            "audience is missing", "Send the iss of the id_token.")
        case .audienceRepeated: .init("audience_repeated", .unknownAudience,
            "audience appears twice", "Send one: the iss of the id_token.")
        case .resourcePresent: .init("resource_present", .badRequest(.invalidTarget, "The resource parameter is not supported."),
            "the request has a resource parameter",
            "Leave it out: the resource servers of a client's tokens are part of its registration.")
        // RFC 6749 §3.3, §6.
        case .scopeMalformed: .init("scope_malformed", .invalidScope("The scope is malformed."),
            "scope is not a list of scope tokens", "Separate them by single spaces (RFC 6749 §3.3).")
        case .refreshTokenMissing: .init("refresh_token_missing", .invalidRequest("refresh_token is required."),
            "refresh_token is missing", "Send it.")
        // RFC 6749 §4.1.3, RFC 7636 §4.5.
        case .codeMissing: .init("code_missing", .invalidRequest("code is required."),
            "code is missing", "Send the code from the authorization endpoint.")
        case .redirectURIMissing: .init("redirect_uri_missing", .invalidRequest("redirect_uri is required."),
            "redirect_uri is missing", "Send the one of the authorization request.")
        case .codeVerifierMissing: .init("code_verifier_missing", .invalidRequest("code_verifier is required."),
            "code_verifier is missing", "Send it: PKCE is not optional (RFC 7636).")
        }
    }
}

// MARK: The client. RFC 6749 §5.2: the status is 401 exactly if the client used the Authorization header

extension ClientRefusal: RefusalCase {
    package var row: RefusalRow {
        switch self {
        case .missing: .init("client_missing", .invalidClient, "the request names no client", "Send client_id.")
        case .unknown: .init("client_unknown", .invalidClient,
            "no client of this name is registered", "Check client_id; the operator registers: native-sso client add.")
        case .disabled: .init("client_disabled", .invalidClient,
            "the client is disabled", "The operator can enable it again: native-sso client enable.")
        case .methodMismatch: .init("client_method_mismatch", .invalidClient,
            "the client authenticates by another method than the registered one",
            "Use the registered method (native-sso client show): it cannot be changed. A client without one sends client_id alone.")
        case .authenticationFailed: .init("client_authentication_failed", .invalidClient,
            "the client's secret is wrong or retired",
            "Use the present secret; the operator makes a new one: native-sso client secret rotate.")
        case .malformedBasic: .init("client_basic_malformed", .invalidClient,
            "the Authorization header does not hold a client's Basic credentials",
            "Form-encode client_id and secret before base64 (RFC 6749 §2.3.1).")
        case .unknownScheme: .init("client_scheme_unknown", .invalidClient,
            "the Authorization header has another scheme than Basic", "Use Basic.")
        case .postedSecret: .init("client_secret_post", .invalidClient,
            "the secret is in the body", "Send it in the Authorization header, as client_secret_basic.")

        // RFC 7523 §3.
        case .assertionIncomplete: .init("client_assertion_incomplete", .invalidClient,
            "client_assertion or its type is missing or unknown",
            "Send both, with the type urn:ietf:params:oauth:client-assertion-type:jwt-bearer.")
        case .assertionMalformed: .init("client_assertion_malformed", .invalidClient,
            "the client assertion is not a compact JWS, or its JSON is malformed", "Make it with a JWT library.")
        case .assertionHeader: .init("client_assertion_header_refused", .invalidClient,
            "the header of the client assertion has a member that the broker does not understand",
            "Send alg, typ and kid.")
        case .assertionWrongType: .init("client_assertion_wrong_typ", .invalidClient,
            "typ of the client assertion is wrong", "Send JWT, or client-authentication+jwt.")
        case .assertionAlgorithm: .init("client_assertion_alg_not_allowed", .invalidClient,
            "alg of the client assertion is not that of the key", "Sign as the registered key's alg says.")
        case .assertionUnknownKey: .init("client_assertion_unknown_key", .invalidClient,
            "the client has no key of this kid",
            "Register its public part, and wait some seconds: native-sso client key add.")
        case .assertionSignature: .init("client_assertion_bad_signature", .invalidClient,
            "the signature of the client assertion does not fit the registered key",
            "Compare the keys: native-sso client key list shows the registered ones.")
        case .assertionIssuer: .init("client_assertion_iss", .invalidClient,
            "iss of the client assertion is not the client", "Send client_id as iss.")
        case .assertionSubject: .init("client_assertion_sub", .invalidClient,
            "sub of the client assertion is not the client", "Send client_id as sub.")
        case .assertionAudience: .init("client_assertion_aud", .invalidClient,
            "aud of the client assertion is not this broker alone", "Send the broker's issuer and nothing else.")
        case .assertionExpiry: .init("client_assertion_exp", .invalidClient,
            "exp of the client assertion is missing, past, or more than 5 minutes after iat or now",
            "Make an assertion for each request, and set the clock.")
        case .assertionNotBefore: .init("client_assertion_nbf", .invalidClient,
            "nbf of the client assertion is malformed or ahead", "Set the clock, or leave nbf out.")
        case .assertionIssuedAt: .init("client_assertion_iat", .invalidClient,
            "iat of the client assertion is malformed or ahead", "Set the clock, and make one for each request.")
        case .assertionID: .init("client_assertion_jti", .invalidClient,
            "the client assertion has no jti, or a malformed one", "Send a random one.")
        case .assertionReplayed: .assertionReplayed
        }
    }
}

// MARK: The DPoP proof. RFC 9449 §5, §5.2, §8: one answer for whatever is wrong with it

extension DPoPDefect: RefusalCase {
    package var row: RefusalRow {
        switch self {
        case .repeated: .init("dpop_header_repeated", .invalidProof, "there are several DPoP proofs", "Send one.")
        case .malformed: .init("dpop_malformed", .invalidProof,
            "the DPoP proof is not a compact JWS", "Make it with a library for RFC 9449.")
        case .header: .init("dpop_header_refused", .invalidProof,
            "the header of the DPoP proof has a member that the broker does not understand", "Send typ, alg and jwk.")
        case .wrongType: .init("dpop_wrong_typ", .invalidProof, "typ of the DPoP proof is wrong", "Send dpop+jwt.")
        case .algorithm: .init("dpop_alg_not_allowed", .invalidProof,
            "alg of the DPoP proof is not for proofs", "Sign with ES256.")
        case .key: .init("dpop_jwk", .invalidProof,
            "the DPoP proof has no usable public key in jwk", "Send the public key as a JWK.")
        case .privateKey: .init("dpop_jwk_private", .invalidProof,
            "jwk of the DPoP proof holds a private key",
            "Make a new key, since this one was sent, and send the public part alone.")
        case .weakKey: .init("dpop_jwk_weak", .invalidProof,
            "the key of the DPoP proof is too weak", "Use a P-256 key.")
        case .signature: .init("dpop_bad_signature", .invalidProof,
            "the signature of the DPoP proof does not fit its key", "Sign with the key of jwk.")
        case .method: .init("dpop_htm", .invalidProof, "htm of the DPoP proof is not POST", "Send POST.")
        case .target: .init("dpop_htu", .invalidProof,
            "htu of the DPoP proof is not this token endpoint",
            "Send its URL as apps know it; the operator sets it as dpop.token_endpoint.")
        case .issuedAt: .init("dpop_iat", .invalidProof,
            "iat of the DPoP proof is missing, too old or ahead", "Make a proof for each request, and set the clock.")
        case .tokenID: .init("dpop_jti", .invalidProof,
            "jti of the DPoP proof is missing or malformed", "Send a random one.")
        case .nonce: .init("dpop_nonce_malformed", .invalidProof,
            "nonce of the DPoP proof is not a string", "Send it as the DPoP-Nonce header had it.")
        case .accessToken: .init("dpop_ath", .invalidProof,
            "ath of the DPoP proof is not that of the access token", "Leave it out here.")
        }
    }
}

extension NonceDefect: RefusalCase {
    package var row: RefusalRow {
        switch self {
        case .missing: .init("dpop_nonce_missing", .useNonce,
            "the DPoP proof has no nonce", "Try again with the DPoP-Nonce of the answer (RFC 9449 §8).")
        case .unknown: .init("dpop_nonce_unknown", .useNonce,
            "no broker here made the nonce of the DPoP proof", "Try again with the DPoP-Nonce of the answer.")
        case .stale: .init("dpop_nonce_stale", .useNonce,
            "the nonce of the DPoP proof is too old", "Try again with the DPoP-Nonce of the answer.")
        }
    }
}

// MARK: The id_token of an exchange or enrolment. RFC 8693 §2.2.2: form, cryptography and claims

extension SubjectTokenDefect: RefusalCase {
    package var row: RefusalRow {
        switch self {
        case .malformed: .init("subject_token_malformed", .invalidSubjectToken,
            "the id_token is not a compact JWS, or its JSON is malformed (for instance, a member appears twice) or too large",
            "Send it exactly as the identity provider gave it. If the app does so already, the identity provider must put fewer claims into it.")
        case .headerRefused: .init("subject_token_header_refused", .invalidSubjectToken,
            "the header of the id_token has a member that the broker does not understand",
            "Send an id_token that is signed, not encrypted.")
        case .wrongType: .init("subject_token_wrong_typ", .invalidSubjectToken,
            "typ of the token is not that of an id_token", "Send the id_token.")
        case .algorithmNotAllowed: .init("subject_token_alg_not_allowed", .invalidSubjectToken,
            "the id_token is signed by an algorithm that is not configured",
            "The operator adds the identity provider's algorithm to algorithms.")
        case .unknownKey: .init("subject_token_unknown_key", .invalidSubjectToken,
            "the id_token is signed by a key that the identity provider never published here",
            "Check audience and iss: the token may be another provider's, or of another environment.")
        case .keyRetired: .init("subject_token_key_retired", .invalidSubjectToken,
            "the key of the id_token left the identity provider's key set, and the token was not made while it was there",
            "The user logs in again.")
        case .keyRevoked: .init("subject_token_key_revoked", .invalidSubjectToken,
            "the key of the id_token was revoked by an operator", "The user logs in again.")
        case .badSignature: .init("subject_token_bad_signature", .invalidSubjectToken,
            "the signature of the id_token is wrong", "Send it unchanged.")
        case .issuerMismatch: .init("subject_token_iss", .invalidSubjectToken,
            "iss of the id_token is not the identity provider that audience names", "Send its own iss as audience.")
        case .subject: .init("subject_token_sub", .invalidSubjectToken,
            "sub of the id_token is missing or malformed", "Ask the identity provider.")
        case .audience: .init("subject_token_aud", .invalidSubjectToken,
            "aud of the id_token is missing or malformed", "Ask the identity provider.")
        case .authorizedParty: .init("subject_token_azp", .invalidSubjectToken,
            "the id_token has several audiences, and azp is missing or not one of them", "Ask the identity provider.")
        case .sessionID: .init("subject_token_sid", .invalidSubjectToken,
            "sid of the id_token is missing or malformed",
            "The identity provider must send one; a login that is enrolled here may be without.")
        case .deviceHash: .init("subject_token_device_hash", .invalidSubjectToken,
            "the id_token is bound to no device: di_hash or ds_hash is missing or malformed",
            "App 1 asks for the device_sso scope, or sends device_id, when it logs in; or it enrols its login here.")
        case .issuedAt: .init("subject_token_iat", .invalidSubjectToken,
            "iat of the id_token is missing, malformed or ahead", "Check the identity provider's clock.")
        case .expiry: .init("subject_token_exp", .invalidSubjectToken,
            "exp of the id_token is missing, malformed or not after iat", "Ask the identity provider.")
        case .notBefore: .init("subject_token_nbf", .invalidSubjectToken,
            "nbf of the id_token is malformed or ahead", "Check the identity provider's clock.")
        case .authenticationTime: .init("subject_token_auth_time", .invalidSubjectToken,
            "auth_time of the id_token is malformed or later than iat", "Ask the identity provider.")
        case .login: .init("subject_token_acr_amr", .invalidSubjectToken,
            "acr or amr of the id_token is malformed", "Ask the identity provider.")
        case .logoutToken: .init("subject_token_is_logout_token", .invalidSubjectToken,
            "the token is a logout token", "Send the id_token.")
        case .accessToken: .init("subject_token_is_access_token", .invalidSubjectToken,
            "the token is an access token", "Send the id_token.")
        case .actorClaim: .init("subject_token_act", .invalidSubjectToken,
            "the token was itself delegated (act)", "Send the id_token of a login.")
        case .mayAct: .init("subject_token_may_act", .invalidSubjectToken,
            "may_act of the id_token is malformed", "Ask the identity provider.")
        case .notEnrolled: .init("subject_token_not_enrolled", .invalidSubjectToken,
            "this broker made the id_token, but not by an enrolment that is good for this use",
            "Send the id_token that the enrolment answered with, and the identity provider's iss as audience.")
        }
    }
}

// MARK: Exchange. Native SSO §4.3: one answer for all that depends on state, binding or relationship

extension ExchangeRefusal: RefusalCase {
    package var row: RefusalRow {
        switch self {
        // RFC 8693 §4.4.
        case .mayActOther: .init("may_act_other_client", .invalidSubjectToken,
            "may_act of the id_token names another app", "Only the app that it names may exchange it.")
        case .assertionReplayed: .assertionReplayed
        case .proofReplayed: .proofReplayed
        case .subjectTokenTooOld: .init("subject_token_too_old", .invalidGrant,
            "the id_token is older than subject_token_max_age", "App 1 logs in again, or renews its id_token.")
        case .subjectTokenExpired: .init("subject_token_expired", .invalidGrant,
            "the id_token is expired, and this identity provider is configured with require_unexpired",
            "App 1 renews its id_token.")
        case .deviceHashMismatch: .init("device_hash_mismatch", .invalidGrant,
            "the device value is not the one that the id_token is bound to (di_hash or ds_hash)",
            "Read both from the same keychain item, and send the value as it lies there. After a new login both are new.")
        case .selfExchange: .init("self_exchange", .invalidGrant,
            "the app exchanges its own id_token",
            "It has its own tokens; the operator can allow it: native-sso client update --self-exchange.")
        case .sourceNotInGroup: .init("source_not_in_group", .invalidGrant,
            "the app that logged in is in no sharing group of this identity provider",
            "The operator adds it: native-sso group member add.")
        case .clientNotInGroup: .clientNotInGroup
        case .otherGroup: .init("group_mismatch", .invalidGrant,
            "the two apps are in two sharing groups", "Only apps of one group share logins: native-sso group list.")
        case .directionForbidden: .init("direction_forbidden", .invalidGrant,
            "the roles in the sharing group do not let the login go this way",
            "The app that logged in must be source or both, the app that asks target or both: native-sso group member add --role.")
        case .audienceOutsideGroup: .init("audience_outside_group", .invalidGrant,
            "the id_token is also for an app outside the sharing group",
            "App 1 asks for an id_token for itself alone, or the operator adds the other app.")
        case .clientDisabled: .clientDisabled
        case .sessionUnknown: .init("session_unknown", .invalidGrant,
            "the broker does not know the login that sid names",
            "Enrol or register the login, or let the operator set admit_on_first_sight; that needs an id_token that is not expired.")
        case .firstSightKeyNotCurrent: .init("first_sight_key_not_current", .invalidGrant,
            "the broker does not know the login that sid names, and the key of the id_token has left the key set",
            "The user logs in again: only a key that is in the identity provider's key set now can bring a login in.")
        case .firstSightTokenTooOld: .init("first_sight_token_too_old", .invalidGrant,
            "the broker does not know the login that sid names, and the id_token is older than first_sight_max_age",
            "App 1 renews its id_token, or the user logs in again. The operator can set first_sight_max_age.")
        case .subjectTokenBeforeEnd: .init("subject_token_before_end", .invalidGrant,
            "an earlier login of the same sid ended after this id_token was issued, or after its auth_time", RefusalRow.loginAgain)
        case .sessionEnded: .sessionEnded
        case .sessionExpired: .sessionExpired
        case .sessionIdle: .sessionIdle
        case .subjectMismatch: .init("subject_mismatch", .invalidGrant,
            "the login that sid names is another user's",
            "Delete what the keychain holds and log in again; if it stays so, the identity provider gives one sid to two users.")
        case .deviceBlocked: .deviceBlocked
        case .pinConflict: .pinConflict

        // RFC 6749 §3.3, Native SSO §4.1.
        case .scopeLacksOpenID: .init("scope_lacks_openid", .invalidScope("The scope must contain openid."),
            "the scope has no openid", "Add it: this profile requires it where a scope is named.")
        case .scopeEmpty: .init("scope_empty", .scopeBeyondClient,
            "no scope is asked for, and the app has no default scope",
            "Name a scope, or let the operator set one: native-sso client update --default-scope.")
        case .scopeExceedsClient: .scopeExceedsClient
        case .scopeExceedsMember: .init("scope_exceeds_member", .scopeBeyondClient,
            "the scope is beyond the ceiling of the app's membership in the sharing group",
            "Ask for less, or let the operator raise it: native-sso group member add --scope-ceiling.")

        // The user must act: slides 6.3 for the older profiles, Native SSO draft 07 §4.4.
        case .consentRequired: .init("consent_required", .invalidScope("The scope needs the consent of the user."), inDraft07: .interactionRequired,
            "the scope needs the consent of the user, which no exchange can give",
            "The user logs in through this app, in the browser, with this scope; or ask for less.")
        case .assuranceInsufficient: .init("assurance_insufficient", .invalidGrant, inDraft07: .interactionRequired,
            "the login is not as strong or as recent as this app asks (accepted acr, maximum authentication age)",
            "The user logs in through this app, in the browser, with the acr_values and max_age that native-sso client show prints. In draft 07 the answer has them, too.")
        case .loginAfterReplay: .init("login_after_replay", .invalidGrant, inDraft07: .interactionRequired,
            "somebody used a copy of this app's refresh token in this login, so its id_token may be in the same hands",
            "The user logs in again, in the browser (max_age=0), and the app exchanges the id_token of that login.")
        }
    }
}

// MARK: Refresh. RFC 6749 §5.2, RFC 9700 §4.14: one answer for all that depends on the token or on state

extension RefreshRefusal: RefusalCase {
    package var row: RefusalRow {
        switch self {
        case .tokenNotOurs: .init("refresh_token_not_ours", .invalidGrant,
            "this broker did not issue the refresh token: wrong form, unknown key or changed",
            "Send the refresh_token that the broker gave, unchanged; one of the identity provider's goes to the identity provider.")
        case .assertionReplayed: .assertionReplayed
        case .proofReplayed: .proofReplayed
        case .grantUnknown: .init("grant_unknown", .invalidGrant,
            "the grant of the refresh token is gone: it was swept long after its end", "The app exchanges again.")
        case .grantRevoked: .init("grant_revoked", .invalidGrant,
            "the grant was revoked before, by an operator or because a spent refresh token came back",
            "The app exchanges again, and where that asks for a login, the user logs in. native-sso audit list has the grant's end under its session.")
        case .grantExpired: .init("grant_expired", .invalidGrant,
            "the grant has reached its lifetime", "The app exchanges again.")

        // RFC 9449 §5: the grant lives on for the app that has the key.
        case .proofMissing: .init("jkt_missing", .invalidProof,
            "the grant is bound to a key, and there is no DPoP proof", "Send a proof by the key of the exchange.")
        case .keyMismatch: .init("jkt_mismatch", .invalidProof,
            "the DPoP proof is by another key than the grant is bound to",
            "Use the key of the exchange. If it is lost, exchange again.")
        case .proofsOff: .init("dpop_off", .invalidGrant,
            "the grant is bound to a key, and the client's DPoP policy is now off",
            "The operator sets it back, or the app exchanges again.")

        // RFC 9700 §4.14.2.
        case .foreignClient: .init("refresh_token_foreign_client", .invalidGrant,
            "the refresh token was issued to another app, so it was copied; the grant is revoked",
            "Keep refresh tokens out of the shared keychain: each app has its own. The other app exchanges again.")
        case .replayed: .init("refresh_token_reused", .invalidGrant,
            "the refresh token was used before and its successor is in use, so somebody holds a copy; the grant is revoked",
            "Store the new refresh token before it is used, and refresh once at a time. The user logs in again: this app's exchanges of an older login are refused.")
        case .late: .init("refresh_token_late", .invalidGrant,
            "the refresh token was used before, and comes back too late for its lost successor; the grant is revoked",
            "Repeat a refresh without an answer within seconds, and keep the token in one place. The app exchanges again; a login is needed only if the successor is presented after all.")
        case .superseded: .init("refresh_token_superseded", .invalidGrant,
            "the refresh token is from before the app's last exchange, which began the grant anew",
            "Store what an exchange gives for the whole app. This part of it exchanges again; no login is needed.")
        case .stateRegressed: .init("state_regressed", .invalidGrant,
            "the broker issued the refresh token, and its database has forgotten: it lost writes; the grant is revoked",
            "The app exchanges again. The operator looks for a restore or a failover that went back in time.")
        case .clientDisabled: .clientDisabled
        case .sharingEnded: .init("sharing_ended", .invalidGrant,
            "the app and the one whose login it uses share no group any more, in this direction",
            "The operator can put that back: native-sso group member add.")
        case .sessionEnded: .sessionEnded
        case .sessionExpired: .sessionExpired
        case .sessionIdle: .sessionIdle
        case .deviceBlocked: .deviceBlocked
        // RFC 6749 §6.
        case .scopeExceedsGrant: .init("scope_exceeds_grant", .scopeBeyondGrant,
            "the scope is beyond what was granted, or what the app may have now", "Ask for less, or leave scope out.")
        case .scopeEmpty: .init("scope_empty", .scopeBeyondGrant,
            "the app may have nothing of the granted scope any more: its allowed scope or its ceiling was narrowed",
            "The operator looks at native-sso client show and native-sso group show.")
        }
    }
}

// MARK: Enrolment, as for an exchange

extension EnrolmentRefusal: RefusalCase {
    package var row: RefusalRow {
        switch self {
        case .assertionReplayed: .assertionReplayed
        case .proofReplayed: .proofReplayed
        case .otherClient: .init("enrolment_other_client", .invalidGrant,
            "the id_token is for another app, or for several", "An app enrols its own login alone.")
        case .expired: .init("enrolment_token_expired", .invalidGrant,
            "the id_token is expired", "Enrol right after the login.")
        case .stale: .init("enrolment_token_stale", .invalidGrant,
            "the id_token is more than 5 minutes old", "Enrol right after the login.")
        case .deviceHashMismatch: .init("device_hash_mismatch", .invalidGrant,
            "the id_token is bound to another device value", "Send the value that went with the login.")
        case .clientDisabled: .clientDisabled
        case .clientNotInGroup: .clientNotInGroup
        case .directionForbidden: .init("direction_forbidden", .invalidGrant,
            "the app's role in the sharing group is target: no other app may use its logins",
            "The operator changes it: native-sso group member add --role both.")
        case .loginEnded: .init("enrolment_login_ended", .invalidGrant,
            "the login is over already", "The user logs in again.")
        case .deviceBlocked: .deviceBlocked
        case .pinConflict: .pinConflict
        case .tokenUsed: .init("enrolment_token_used", .invalidGrant,
            "the id_token was enrolled before, with another device value, or that session is over",
            "Use what the first enrolment gave, or log in again. If the app did not enrol twice, somebody has a copy.")

        // RFC 6749 §3.3, Native SSO §3.1.
        case .scopeLacksOpenID: .init("scope_lacks_openid", .invalidScope("The scope must contain openid."),
            "the scope has no openid", "Add openid to it.")
        case .scopeLacksDeviceSSO: .init("scope_lacks_device_sso", .invalidScope("The scope must contain device_sso."),
            "the scope has no device_sso", "Add it: it asks for the device_secret.")
        case .scopeExceedsClient: .scopeExceedsClient
        }
    }
}

// MARK: Authorization code. RFC 6749 §5.2, RFC 7636 §4.6

extension CodeRefusal {
    var row: RefusalRow {
        switch self {
        case .relay(let refusal): refusal.row
        case .provider(let error): error.row
        case .fault(let fault): fault.row
        // Not the app's doing: the identity provider gave this id_token to the broker itself.
        case .idToken(let defect): defect.row.answered(by: .unavailable)
        case .enrolment(let refusal): refusal.row
        }
    }
}

extension RelayRefusal: RefusalCase {
    package var row: RefusalRow {
        switch self {
        case .proofReplayed: .proofReplayed
        case .verifierMalformed: .init("code_verifier_malformed", .invalidGrant,
            "code_verifier has a length or characters that RFC 7636 §4.1 does not allow",
            "Send the one that the code_challenge was made from: 43 to 128 characters.")
        case .used: .init("code_used", .invalidGrant,
            "the code was relayed before: for another request, more than 30 seconds ago, or without a result",
            "The user logs in again. A repetition must be the same request, within 30 seconds.")
        // Not a word on the code: the app may try again, and is told then.
        case .inFlight: .init("code_in_flight", .unavailable,
            "the same request is being answered, or a broker died while it was", "Repeat it after Retry-After.")
        case .relayBusy: .init("code_relay_busy", .unavailable,
            "as many codes are at the identity provider as code_relay.at_once allows",
            "Repeat the request: the code was not sent. If it goes on, the identity provider is slow.")
        case .relayShareUsed: .init("code_relay_share_used", .unavailable,
            "of the codes at the identity provider, half are this app's or a quarter came from this address",
            "Repeat the request: the code was not sent. If it goes on, the identity provider is slow, or somebody floods it.")
        }
    }
}

extension ProviderError: RefusalCase {
    /// Of the identity provider's error the app sees the code alone, and only one of a closed set: the text is the broker's.
    package var row: RefusalRow {
        switch self {
        case .invalidRequest: .init("idp_invalid_request", .invalidRequest("The identity provider does not take the code request."),
            "the identity provider does not take the code request as it is",
            "Compare the app's registration there: redirect_uri, PKCE, and how it authenticates.")
        case .invalidClient: .init("idp_invalid_client", .badRequest(.invalidClient, "The identity provider refused the client."),
            "the identity provider does not know the client, or its secret",
            "The operator compares code_relay.client_secret_file with the registration there.")
        case .invalidGrant: .init("idp_invalid_grant", .invalidGrant,
            "the identity provider refused the code: expired, used, of another app, or with another verifier",
            "The user logs in again.")
        case .unauthorizedClient: .init("idp_unauthorized_client", .badRequest(.unauthorizedClient, "The client may not use codes at the identity provider."),
            "the identity provider does not let the client use codes", "Allow the code flow in its registration.")
        case .unsupportedGrantType: .init("idp_unsupported_grant_type", .badRequest(.unsupportedGrantType, "The identity provider does not support the grant type."),
            "the identity provider knows no codes at this endpoint", "Check code_relay.token_endpoint.")
        case .invalidScope: .init("idp_invalid_scope", .invalidScope("The identity provider refused the scope."),
            "the identity provider refused the scope", "Compare the authorization request with the registration.")
        case .interactionRequired: .init("idp_interaction_required", .interactionRequired,
            "the identity provider wants to see the user", "The user logs in again.")
        case .other: .init("idp_other_error", .invalidGrant,
            "the identity provider refused the code with an error of its own", "Its log has it, at this time.")
        }
    }
}

extension ProviderFault: RefusalCase {
    package var row: RefusalRow {
        switch self {
        case .endpointUnknown: .init("idp_token_endpoint_unknown", .unavailable,
            "the discovery document names no token endpoint on its own host",
            "The operator sets code_relay.token_endpoint.")
        case .unreachable: .init("idp_unreachable", .unavailable,
            "the broker cannot connect to the identity provider's token endpoint, or TLS cannot verify it",
            "Check the network and its certificate. The code was not sent.")
        case .timedOut: .init("idp_timed_out", .unavailable,
            "the identity provider did not answer within code_relay.timeout",
            "The user logs in again: the code may be spent.")
        case .cutOff: .init("idp_cut_off", .unavailable,
            "the connection broke after the code was sent", "The user logs in again: it may be spent.")
        case .unavailable: .init("idp_unavailable", .unavailable,
            "the identity provider says that it is out of service", "Look at its state.")
        case .status: .init("idp_status", .unavailable,
            "the token endpoint answered with a status that RFC 6749 does not know", "Check code_relay.token_endpoint.")
        case .redirected: .init("idp_redirected", .unavailable,
            "the token endpoint answered with a redirect, which the broker does not follow",
            "The operator sets code_relay.token_endpoint to the address that it points to.")
        case .contentType: .init("idp_content_type", .unavailable,
            "the token endpoint's answer is not declared as application/json",
            "Check what is between the broker and the identity provider.")
        case .encoded: .init("idp_content_encoding", .unavailable,
            "the token endpoint's answer is compressed", "Check what is between the broker and the identity provider.")
        case .tooLarge: .init("idp_too_large", .unavailable,
            "the token endpoint's answer is larger than 2 MiB",
            "Check what is between the broker and the identity provider.")
        case .notJSON: .init("idp_not_json", .unavailable,
            "the token endpoint's answer is not strict JSON, or has a name twice", "Ask the identity provider.")
        case .malformed: .init("idp_answer_malformed", .unavailable,
            "the token endpoint's answer lacks an access token of type Bearer, or a member has the wrong type",
            "Compare it with RFC 6749 §5.1.")
        case .noIDToken: .init("idp_no_id_token", .unavailable,
            "the token endpoint gave no id_token", "Ask for the scope openid in the authorization request.")
        case .accessTokenHash: .init("idp_at_hash", .unavailable,
            "at_hash is not that of the access token beside it", "Ask the identity provider.")
        case .otherClient: .init("idp_id_token_other_client", .unavailable,
            "the id_token is for another client, or for several", "Compare the client_id of both registrations.")
        case .stale: .init("idp_id_token_stale", .unavailable,
            "the id_token has expired, or was issued more than 5 minutes ago", "Compare the clocks.")
        }
    }
}

// MARK: Logout. OpenID Connect Back-Channel Logout 1.0 §2.6, §2.8

extension LogoutRefusal: RefusalCase {
    package var row: RefusalRow {
        switch self {
        case .missing: .init("logout_token_missing", .invalidRequest("logout_token is required."),
            "logout_token is missing", "The identity provider posts it as a form.")
        case .malformed: .init("logout_token_malformed", .invalidLogoutToken,
            "the logout token is not a compact JWS, or its JSON is malformed", "Ask the identity provider.")
        case .headerRefused: .init("logout_token_header_refused", .invalidLogoutToken,
            "the header of the logout token has a member that the broker does not understand",
            "Ask the identity provider.")
        case .wrongType: .init("logout_token_wrong_typ", .invalidLogoutToken,
            "typ of the logout token is not logout+jwt", "logout.allow_typ_jwt allows JWT, too.")
        case .algorithmNotAllowed: .init("logout_token_alg_not_allowed", .invalidLogoutToken,
            "the logout token is signed by an algorithm that is not configured",
            "The operator adds the identity provider's algorithm to algorithms.")
        case .unknownKey: .init("logout_token_unknown_key", .invalidLogoutToken,
            "no key of the identity provider fits the logout token", "Check jwks_uri.")
        case .keyRetired: .init("logout_token_key_retired", .invalidLogoutToken,
            "the key of the logout token left the key set", "The identity provider signs with a present key.")
        case .keyRevoked: .init("logout_token_key_revoked", .invalidLogoutToken,
            "the key of the logout token was revoked", "The identity provider signs with another key.")
        case .badSignature: .init("logout_token_bad_signature", .invalidLogoutToken,
            "the signature of the logout token is wrong", "Check what is between the identity provider and the broker.")
        case .issuer: .init("logout_token_iss", .invalidLogoutToken,
            "iss of the logout token names no identity provider of this broker",
            "The operator compares it with identity_providers.")
        case .audience: .init("logout_token_aud", .invalidLogoutToken,
            "aud of the logout token names a client that is neither registered here nor in logout.audiences",
            "The operator adds it to logout.audiences.")
        case .issuedAt: .init("logout_token_iat", .invalidLogoutToken,
            "iat of the logout token is missing, more than 5 minutes old or ahead", "Compare the clocks.")
        case .expiry: .init("logout_token_exp", .invalidLogoutToken,
            "exp of the logout token is missing, past, not after iat or more than 5 minutes after it",
            "Compare the clocks; logout.allow_missing_exp allows it to be missing.")
        case .notBefore: .init("logout_token_nbf", .invalidLogoutToken,
            "nbf of the logout token is malformed or ahead", "Compare the clocks.")
        case .tokenID: .init("logout_token_jti", .invalidLogoutToken,
            "jti of the logout token is missing or malformed", "Ask the identity provider.")
        case .events: .init("logout_token_events", .invalidLogoutToken,
            "events of the logout token lacks the back-channel logout", "Ask the identity provider.")
        case .nonce: .init("logout_token_nonce", .invalidLogoutToken,
            "the logout token has a nonce", "It must have none: it may be an id_token.")
        case .subject: .init("logout_token_sub", .invalidLogoutToken,
            "sub of the logout token is malformed", "Ask the identity provider.")
        case .sessionID: .init("logout_token_sid", .invalidLogoutToken,
            "sid of the logout token is malformed", "Ask the identity provider.")
        case .nobody: .init("logout_token_names_nobody", .invalidLogoutToken,
            "the logout token has neither sub nor sid", "Ask the identity provider.")
        case .replayed: .init("logout_token_replayed", .invalidLogoutToken,
            "the logout token was used before", "Nothing is to be done: the broker has done what it asks for.")
        }
    }
}

// MARK: Limits. RFC 6585 §4: nothing that an app could take for the end of its login

extension RateLimited.Limit: RefusalCase {
    package var row: RefusalRow {
        switch self {
        case .listener: .init("rate_limited_listener", .tooMany,
            "all callers together made more requests than limits.listener allows",
            "Wait for Retry-After. The operator checks which networks send them, and whether the limit fits the apps.")
        case .logout: .init("rate_limited_logout", .tooMany,
            "one address sent more logout tokens than limits.logout allows: of one identity provider, or without a valid signature",
            "Send the same logout token again after Retry-After. The operator checks who can reach the internal listener.")
        case .address: .init("rate_limited_address", .tooMany,
            "too many requests came from one address",
            "Wait for Retry-After. Behind a proxy, name it in public.trusted_proxies; the limit is limits.address.")
        case .network: .init("rate_limited_network", .tooMany,
            "too many requests came from one network", "Wait for Retry-After; the limit is limits.network.")
        case .client: .init("rate_limited_client", .tooMany,
            "the client made too many requests",
            "Wait for Retry-After, and look for a loop in the app; the limit is limits.client.")
        case .clientFailures: .init("rate_limited_client_failures", .tooMany,
            "the client failed to authenticate too often, from one address",
            "Correct its credentials first: the right ones always pass; the limit is limits.client_failures.")
        case .session: .init("rate_limited_session", .tooMany,
            "the app used this login too often",
            "Wait for Retry-After. Keep the access token until it expires; the limit is limits.session.")
        case .user: .init("rate_limited_user", .tooMany,
            "the user's logins were exchanged too often",
            "Wait for Retry-After, and refresh instead of exchanging again; the limit is limits.user.")
        case .device: .init("rate_limited_device", .tooMany,
            "the device made too many exchanges",
            "Wait for Retry-After, and refresh instead of exchanging again; the limit is limits.device.")
        case .code: .init("rate_limited_code", .tooMany,
            "one address has brought codes more often than limits.code allows",
            "Wait for Retry-After: the code was not sent. Behind a proxy, name it in public.trusted_proxies.")
        case .deviceFailures: .init("rate_limited_device_failures", .tooMany,
            "the login was shown with wrong device values too often",
            "Wait for Retry-After, and read id_token and device value from the same keychain item. If no app did this, somebody has a copy of the id_token.")
        }
    }
}

// MARK: Rows of several grants

extension RefusalRow {
    fileprivate static let assertionReplayed = RefusalRow("client_assertion_replayed", .invalidClient,
        "the client assertion was used before, at this broker or another",
        "Make a new one for each request, also for a retry. If the client did not send it twice, somebody has a copy.")

    fileprivate static let proofReplayed = RefusalRow("dpop_replayed", .invalidProof,
        "the DPoP proof was used before, at this broker or another", "Make a proof for each request, also for a retry.")

    fileprivate static let clientDisabled = RefusalRow("client_disabled", .invalidGrant,
        "the app that asks is disabled", "The operator can enable it again: native-sso client enable.")

    fileprivate static let clientNotInGroup = RefusalRow("client_not_in_group", .invalidGrant,
        "the app that asks is in no sharing group of this identity provider",
        "The operator adds it: native-sso group member add.")

    fileprivate static let sessionEnded = RefusalRow("session_ended", .invalidGrant,
        "the login is over: the user logged out, or an operator ended it", loginAgain)

    fileprivate static let sessionExpired = RefusalRow("session_expired", .invalidGrant,
        "the login has reached its absolute lifetime (sessions.absolute)", loginAgain)

    fileprivate static let sessionIdle = RefusalRow("session_idle", .invalidGrant,
        "no app has used the login for longer than sessions.idle", loginAgain)

    fileprivate static let deviceBlocked = RefusalRow("device_blocked", .invalidGrant,
        "an operator has blocked the device", "The operator can unblock it: native-sso device unblock.")

    fileprivate static let pinConflict = RefusalRow("pin_conflict", .invalidGrant,
        "the app showed another DPoP key on this device before, or shows none now",
        "Use the key that the app made on this device. If it lost that key, the user logs in again with a new device value; if it did not, somebody has a copy of id_token and device value.")

    fileprivate static let scopeExceedsClient = RefusalRow("scope_exceeds_client", .scopeBeyondClient,
        "the scope is beyond the client's allowed scope",
        "Ask for less, or let the operator allow it: native-sso client update --allowed-scope.")

    /// An identity provider may keep `sid` and `auth_time` through a login that its own session answers: the steps go further
    /// only where the one before did not help.
    fileprivate static let loginAgain: StaticString =
        "The user logs in again in the browser, as usual. If the broker refuses that id_token, too, the app asks once with prompt=login. Where even that does not help, the user logs out at the identity provider and logs in again."
}

// MARK: Answers of several rows

extension RefusalAnswer {
    fileprivate static let malformedHTTP = invalidRequest("The HTTP request is malformed.")
    fileprivate static let methodNotAllowed = invalidRequest(
        "Only POST is allowed.", .methodNotAllowed, headers: [("Allow", "POST")])
    fileprivate static let requestTimeout = invalidRequest("The request took too long to arrive.", .requestTimeout)
    fileprivate static let severalMechanisms = invalidRequest("Only one client authentication mechanism may be used.")
    fileprivate static let malformedForm = invalidRequest("The form is malformed.")
    fileprivate static let formTooLarge = invalidRequest("There are too many parameters, or one is too long.")
    fileprivate static let unsupportedSubjectTokenType = invalidRequest("The subject token type is not supported.")
    fileprivate static let unsupportedActorTokenType = invalidRequest("The actor token type is not supported.")
    fileprivate static let unsupportedRequestedTokenType = invalidRequest("The requested token type is not supported.")
    fileprivate static let unknownAudience = badRequest(.invalidTarget, "The audience must be one issuer known here.")
    fileprivate static let invalidSubjectToken = invalidRequest("The subject token is not valid.")
    fileprivate static let invalidLogoutToken = invalidRequest("The logout token is not valid.")
    fileprivate static let scopeBeyondClient = invalidScope("The scope is beyond what the client may have.")
    fileprivate static let scopeBeyondGrant = invalidScope("The scope is beyond what was granted.")
}
