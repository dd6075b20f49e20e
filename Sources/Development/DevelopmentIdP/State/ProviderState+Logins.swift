import StrictCoding

extension ProviderState {
    /// The live session of a browser's cookie.
    func session(cookie: String?, at now: Int64) -> LoginSession? {
        guard let cookie, let session = sessions[cookie], session.isLive(at: now) else { return nil }
        return session
    }

    /// Remembers a page for `browser`.
    func openPage(
        _ form: PendingLogin.Form, for request: AuthorizationRequest, browser: String, at now: Int64
    ) -> PendingLogin {
        forgetExpired(at: now)
        let login = PendingLogin(
            transaction: RandomToken.make(), browser: browser, csrfToken: RandomToken.make(), request: request,
            expiresAt: now + lifetimes.loginPage, form: form)
        logins[login.transaction] = login
        return login
    }

    /// The page that a posted form belongs to, if the form came from the browser that the page was made for.
    func pendingLogin(transaction: String, browser: String?, csrfToken: String, at now: Int64) -> PendingLogin? {
        guard let login = logins[transaction], now < login.expiresAt, let browser,
            ConstantTime.equal(login.browser.utf8, browser.utf8),
            ConstantTime.equal(login.csrfToken.utf8, csrfToken.utf8)
        else { return nil }
        return login
    }

    /// Counts a wrong password or code. False when the page is used up.
    func recordFailure(_ login: PendingLogin) -> Bool {
        guard var login = logins[login.transaction] else { return false }
        login.failures += 1
        logins[login.transaction] = login.failures < PendingLogin.allowedFailures ? login : nil
        return login.failures < PendingLogin.allowedFailures
    }

    /// Uses up a page; false where another request was faster.
    func close(_ login: PendingLogin) -> Bool { logins.removeValue(forKey: login.transaction) != nil }

    /// Begins a session, when the page before it is used up.
    ///
    /// Every login gets a new cookie, which prevents session fixation.
    func beginSession(
        of user: User, _ contextClass: Authentication.ContextClass, at now: Int64
    ) -> (cookie: String, session: LoginSession) {
        let session = LoginSession(
            sid: RandomToken.make(), subject: user.subject,
            authentication: Authentication(at: now, contextClass: contextClass), expiresAt: now + lifetimes.session)
        let cookie = RandomToken.make()
        sessions[cookie] = session
        return (cookie, session)
    }

    /// Whether the code of a second factor is right, and was not used before.
    func useCode(_ digits: String, of user: User, at now: Int64) -> Bool {
        guard let step = user.secondFactor?.step(of: digits, at: now), step > usedSteps[user.subject] ?? 0 else {
            return false
        }
        usedSteps[user.subject] = step
        return true
    }

    /// Whether the user allowed the client all of this before.
    func hasConsent(of subject: String, to request: AuthorizationRequest) -> Bool {
        consents[Consent(subject: subject, clientID: request.clientID)]?.isSuperset(of: request.scope) == true
    }

    func recordConsent(of subject: String, to request: AuthorizationRequest) {
        consents[Consent(subject: subject, clientID: request.clientID), default: []].formUnion(request.scope)
    }

    func session(sid: String, at now: Int64) -> LoginSession? {
        sessions.values.first { $0.sid.hasSameOctets(as: sid) && $0.isLive(at: now) }
    }

    /// Ends a session and everything issued in it.
    func endSession(sid: String) -> EndedSession? {
        guard let (cookie, session) = sessions.first(where: { $0.value.sid.hasSameOctets(as: sid) }) else { return nil }
        sessions[cookie] = nil
        for grant in grants.values where grant.sid.hasSameOctets(as: sid) { revoke(grantID: grant.id) }
        return EndedSession(sid: session.sid, subject: session.subject, clients: session.clients.sorted())
    }
}
