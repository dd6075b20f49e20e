/// An open login page.
struct PendingLogin: Sendable {
    /// Names the page in its form; a secret of the browser that got it.
    let transaction: String
    /// The cookie of the browser that got the page. A form posted by another browser is not the user's doing.
    let browser: String
    /// Proof, beside the cookie, that the form is ours.
    let csrfToken: String
    let request: AuthorizationRequest
    let expiresAt: Int64
    var failures = 0

    /// After so many wrong passwords the app has to ask again.
    static let allowedFailures = 5
}
