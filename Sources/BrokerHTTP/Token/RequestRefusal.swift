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

    // Exchange
    case audienceUnknown = "audience_unknown"
    case profileNotEnabled = "profile_not_enabled"
    case hyphenatedTokenType = "subject_token_type_hyphenated"
    case actorTokenMalformed = "actor_token_malformed"
}

/// Why the caller is not taken for a client. All of them are told the same.
enum ClientRefusal: String, Sendable, CaseIterable {
    case missing = "client_missing"
    case unknown = "client_unknown"
    case disabled = "client_disabled"
    /// The client is registered for another method. A stronger one is never replaced by a weaker one.
    case methodMismatch = "client_method_mismatch"
    /// Registered for a method that this broker has not been set up for.
    case methodUnavailable = "client_method_unavailable"
    case authenticationFailed = "client_authentication_failed"
    case malformedBasic = "client_basic_malformed"
    case unknownScheme = "client_scheme_unknown"
    /// `client_secret` in the body: not supported.
    case postedSecret = "client_secret_post"
}
