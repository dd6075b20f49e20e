/// What the redemption of one code founded, and every refresh continues.
struct Grant: Sendable {
    let id: String
    let clientID: String
    let subject: String
    let sid: String
    let authentication: Authentication
    let scope: [String]
    /// Set where the app sent a `device_id`: refreshed id_tokens repeat it.
    let deviceIDHash: String?
    /// No refresh token of this grant is good beyond it.
    let expiresAt: Int64
}

/// An authorization code that was given out.
struct IssuedCode: Sendable {
    enum Status {
        case unused
        /// Presented once, rightly or not. The grant is what came of it, and dies when the code is seen again.
        case spent(grantID: String?)
    }

    let request: AuthorizationRequest
    let subject: String
    let sid: String
    let authentication: Authentication
    let expiresAt: Int64
    var status = Status.unused
}
