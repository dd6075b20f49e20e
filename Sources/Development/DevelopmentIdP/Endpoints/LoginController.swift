import HTTPTypes
import Hummingbird
import OAuthWire
import StrictCoding

/// `POST /login`, `/second-factor` and `/consent`: what the forms of the pages send.
struct LoginController: Sendable {
    let provider: Provider

    func login(_ request: Request, _ context: some RequestContext) async -> Response {
        await answer(request) { page, form, now in
            guard case .password = page.form else { return nil }
            let username = form["username"] ?? ""
            guard let user = provider.users.authenticate(username: username, password: form["password"] ?? "") else {
                return await refuse(page, "password") {
                    .login(page, username: username, problem: "User name or password is wrong.")
                }
            }
            guard await provider.state.close(page) else { return nil }
            guard provider.needsSecondFactor(user, for: page.request) else {
                return await enter(page, as: user, .password, at: now)
            }
            let next = await provider.state.openPage(
                .secondFactor(user), for: page.request, browser: page.browser, at: now)
            return .page(.secondFactor(next))
        }
    }

    func secondFactor(_ request: Request, _ context: some RequestContext) async -> Response {
        await answer(request) { page, form, now in
            guard case .secondFactor(let user) = page.form else { return nil }
            guard await provider.state.useCode(form["code"] ?? "", of: user, at: now) else {
                return await refuse(page, "code") {
                    .secondFactor(page, problem: "The code is wrong, or was used before. Wait for the next one.")
                }
            }
            guard await provider.state.close(page) else { return nil }
            return await enter(page, as: user, .secondFactor, at: now)
        }
    }

    func consent(_ request: Request, _ context: some RequestContext) async -> Response {
        await answer(request) { page, form, now in
            guard case .consent(let sid) = page.form, let decision = form["decision"],
                await provider.state.close(page), let session = await provider.state.session(sid: sid, at: now)
            else { return nil }
            guard decision.hasSameOctets(as: "allow") else {
                return provider.redirect(
                    to: page.request.redirectURI,
                    [
                        ("error", AuthorizationError.Code.accessDenied.rawValue),
                        ("error_description", "the user did not consent"),
                    ], state: page.request.state)
            }
            await provider.state.recordConsent(of: session.subject, to: page.request)
            return await provider.answer(page.request, in: session, at: now)
        }
    }

    /// Finds the page that the form is from.
    ///
    /// - Parameter body: nil: the page is of another kind, or was used already.
    private func answer(
        _ request: Request, _ body: (PendingLogin, FormParameters, _ now: Int64) async -> Response?
    ) async -> Response {
        guard let form = try? await request.formParameters() else {
            return .page(.problem("The form could not be read."), status: .badRequest)
        }
        let now = provider.now()
        guard let transaction = form["transaction"], let csrfToken = form["csrf_token"],
            let page = await provider.state.pendingLogin(
                transaction: transaction, browser: request.cookies[provider.cookies.browser]?.value,
                csrfToken: csrfToken,
                at: now)
        else {
            return .page(
                .problem("This login page is too old, or not yours. Start again in the app."), status: .badRequest)
        }
        return await body(page, form, now)
            ?? .page(.problem("This login page was used already."), status: .badRequest)
    }

    /// Counts a failure, and shows the page again until there were too many.
    private func refuse(_ page: PendingLogin, _ what: String, _ again: () -> Page) async -> Response {
        guard await provider.state.recordFailure(page) else {
            return .page(.problem("Too many wrong \(what)s. Start again in the app."), status: .forbidden)
        }
        return .page(again(), status: .forbidden)
    }

    private func enter(
        _ page: PendingLogin, as user: User, _ contextClass: Authentication.ContextClass, at now: Int64
    ) async -> Response {
        let (cookie, session) = await provider.state.beginSession(of: user, contextClass, at: now)
        var response = await provider.proceed(page.request, in: session, browser: page.browser, at: now)
        response.setCookie(BrowserCookie.make(provider.cookies.session, cookie))
        return response
    }
}
