import StrictCoding

extension ProviderState {
    /// The live session of a browser's cookie.
    func session(cookie: String?, at now: Int64) -> LoginSession? {
        guard let cookie, let session = sessions[cookie], session.isLive(at: now) else { return nil }
        return session
    }

    /// Remembers a login page for `browser`.
    func openLogin(for request: AuthorizationRequest, browser: String, at now: Int64) -> PendingLogin {
        forgetExpired(at: now)
        let login = PendingLogin(
            transaction: RandomToken.make(), browser: browser, csrfToken: RandomToken.make(), request: request,
            expiresAt: now + lifetimes.loginPage)
        logins[login.transaction] = login
        return login
    }

    /// The login page that a posted form belongs to, if the form came from the browser that the page was made for.
    func pendingLogin(transaction: String, browser: String?, csrfToken: String, at now: Int64) -> PendingLogin? {
        guard let login = logins[transaction], now < login.expiresAt, let browser,
            ConstantTime.equal(login.browser.utf8, browser.utf8),
            ConstantTime.equal(login.csrfToken.utf8, csrfToken.utf8)
        else { return nil }
        return login
    }

    /// Counts a wrong password. False when the page is used up.
    func recordFailure(_ login: PendingLogin) -> Bool {
        guard var login = logins[login.transaction] else { return false }
        login.failures += 1
        logins[login.transaction] = login.failures < PendingLogin.allowedFailures ? login : nil
        return login.failures < PendingLogin.allowedFailures
    }

    /// Ends the login page with a new session; nil where another request was faster.
    ///
    /// Every login gets a new cookie, which prevents session fixation.
    func completeLogin(_ login: PendingLogin, as user: User, at now: Int64) -> (cookie: String, session: LoginSession)?
    {
        guard logins.removeValue(forKey: login.transaction) != nil else { return nil }
        let session = LoginSession(
            sid: RandomToken.make(), subject: user.subject, authenticatedAt: now, expiresAt: now + lifetimes.session)
        let cookie = RandomToken.make()
        sessions[cookie] = session
        return (cookie, session)
    }

    /// Ends a session and everything issued in it.
    func endSession(sid: String) -> EndedSession? {
        guard let (cookie, session) = sessions.first(where: { $0.value.sid.hasSameOctets(as: sid) }) else { return nil }
        sessions[cookie] = nil
        for grant in grants.values where grant.sid.hasSameOctets(as: sid) { revoke(grantID: grant.id) }
        return EndedSession(sid: session.sid, subject: session.subject, clients: session.clients.sorted())
    }
}
