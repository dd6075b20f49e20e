/// An open page: the login form, the second factor's, or the consent's.
struct PendingLogin: Sendable {
    enum Form: Sendable {
        case password
        /// The password was right.
        case secondFactor(User)
        /// The session exists; the app gets nothing without the user's consent.
        case consent(sid: String)
    }

    /// Names the page in its form; a secret of the browser that got it.
    let transaction: String
    /// The cookie of the browser that got the page. A form posted by another browser is not the user's doing.
    let browser: String
    /// Proof, beside the cookie, that the form is ours.
    let csrfToken: String
    let request: AuthorizationRequest
    let expiresAt: Int64
    let form: Form
    var failures = 0

    /// After so many wrong passwords or codes the app has to ask again.
    static let allowedFailures = 5
}
