/// One login of one user in one browser.
struct LoginSession: Sendable {
    /// `sid` in id_tokens and logout tokens. Not the cookie: this value is public.
    let sid: String
    let subject: String
    let authentication: Authentication
    let expiresAt: Int64
    /// Proof that a logout form is ours.
    let logoutToken = RandomToken.make()
    /// The clients that got tokens in this session.
    var clients: Set<String> = []

    func isLive(at now: Int64) -> Bool { now < expiresAt }
}

/// A login that has just ended: what a logout token would say of it (OpenID Connect Back-Channel Logout 1.0 §2.4).
package struct EndedSession: Sendable, Equatable {
    package let sid: String
    package let subject: String
    /// The clients that got tokens in it, sorted.
    package let clients: [String]
}

/// Hears of logouts, after the session and its refresh tokens are gone.
package protocol SessionEndListener: Sendable {
    func sessionEnded(_ session: EndedSession) async
}
