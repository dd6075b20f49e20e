import Hummingbird
import OAuthWire

/// `POST /login`: what the login page's form sends.
struct LoginController: Sendable {
    let provider: Provider

    func login(_ request: Request, _ context: some RequestContext) async -> Response {
        guard let form = try? await request.formParameters() else {
            return .page(.problem("The form could not be read."), status: .badRequest)
        }
        let now = provider.now()
        guard let transaction = form["transaction"], let csrfToken = form["csrf_token"],
            let login = await provider.state.pendingLogin(
                transaction: transaction, browser: request.cookies[BrowserCookie.browser]?.value, csrfToken: csrfToken,
                at: now)
        else {
            return .page(
                .problem("This login page is too old, or not yours. Start again in the app."), status: .badRequest)
        }
        let username = form["username"] ?? ""
        guard let user = provider.users.authenticate(username: username, password: form["password"] ?? "") else {
            guard await provider.state.recordFailure(login) else {
                return .page(.problem("Too many wrong passwords. Start again in the app."), status: .forbidden)
            }
            return .page(
                .login(login, username: username, problem: "User name or password is wrong."), status: .forbidden)
        }
        guard let (cookie, session) = await provider.state.completeLogin(login, as: user, at: now) else {
            return .page(.problem("This login page was used already."), status: .badRequest)
        }
        let code = await provider.state.issueCode(for: login.request, in: session, at: now)
        var response = provider.redirect(login.request, code: code)
        response.setCookie(BrowserCookie.make(BrowserCookie.session, cookie))
        return response
    }
}
