/// Why a request is refused before any grant looks at it, or by the endpoint's own reading of its parameters. The raw
/// value is what log and audit show.
enum RequestRefusal: String, Sendable, CaseIterable {
    // HTTP
    case unknownPath = "http_unknown_path"
    case method = "http_method"
    case contentType = "http_content_type"
    case contentEncoding = "http_content_encoding"
    /// RFC 6749 §2.3.1: credentials must not be in the URI. So nothing is.
    case query = "http_query"
    case authorizationRepeated = "http_authorization_repeated"

    // Client, as far as it is a matter of form
    /// RFC 6749 §2.3: one mechanism per request.
    case severalMechanisms = "client_several_mechanisms"
    case clientIDMismatch = "client_id_mismatch"
    case grantNotAllowed = "grant_not_allowed"
    /// RFC 9449 §5.2.
    case proofRequired = "dpop_proof_required"

    // Exchange
    case audienceUnknown = "audience_unknown"
    case profileNotEnabled = "profile_not_enabled"
    case hyphenatedTokenType = "subject_token_type_hyphenated"
    case actorTokenMalformed = "actor_token_malformed"
    /// No login of this issuer is enrolled by exchange.
    case enrolmentNotEnabled = "enrolment_not_enabled"
    /// The same of a code.
    case relayNotEnabled = "code_relay_not_enabled"
    case deviceIDMalformed = "device_id_malformed"
    case profileNotEnabledForCode = "code_profile_not_enabled"
}

/// Why the caller is not taken for a client. All of them are told the same.
enum ClientRefusal: String, Error, Sendable, CaseIterable {
    case missing = "client_missing"
    case unknown = "client_unknown"
    case disabled = "client_disabled"
    /// The client is registered for another method. A stronger one is never replaced by a weaker one.
    case methodMismatch = "client_method_mismatch"
    /// The secret is none of the client's.
    case authenticationFailed = "client_authentication_failed"
    case malformedBasic = "client_basic_malformed"
    case unknownScheme = "client_scheme_unknown"
    /// `client_secret` in the body: not supported.
    case postedSecret = "client_secret_post"

    // A client assertion, RFC 7523 §3
    /// `client_assertion` or a `client_assertion_type` that is known is missing.
    case assertionIncomplete = "client_assertion_incomplete"
    case assertionMalformed = "client_assertion_malformed"
    case assertionHeader = "client_assertion_header_refused"
    case assertionWrongType = "client_assertion_wrong_typ"
    case assertionAlgorithm = "client_assertion_alg_not_allowed"
    case assertionUnknownKey = "client_assertion_unknown_key"
    case assertionSignature = "client_assertion_bad_signature"
    case assertionIssuer = "client_assertion_iss"
    case assertionSubject = "client_assertion_sub"
    case assertionAudience = "client_assertion_aud"
    /// Missing, past, or too far ahead.
    case assertionExpiry = "client_assertion_exp"
    case assertionNotBefore = "client_assertion_nbf"
    case assertionIssuedAt = "client_assertion_iat"
    case assertionID = "client_assertion_jti"
    /// Used before, at whichever replica.
    case assertionReplayed = "client_assertion_replayed"
}
