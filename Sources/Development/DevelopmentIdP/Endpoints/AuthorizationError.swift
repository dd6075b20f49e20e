/// Why an authorization request failed.
enum AuthorizationError: Error, Sendable {
    /// Client or redirect URI are in doubt: the user is told, and the browser is sent nowhere (RFC 6749 §4.1.2.1).
    case page(String)
    /// The app is told by redirect.
    case redirect(to: String, state: String?, Code, String)

    /// RFC 6749 §4.1.2.1, OpenID Connect Core §3.1.2.6.
    enum Code: String {
        case invalidRequest = "invalid_request"
        case invalidScope = "invalid_scope"
        case unsupportedResponseType = "unsupported_response_type"
        case accessDenied = "access_denied"
        case loginRequired = "login_required"
        case consentRequired = "consent_required"
        case requestNotSupported = "request_not_supported"
        case requestURINotSupported = "request_uri_not_supported"
    }
}
