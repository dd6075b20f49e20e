import Hummingbird
import OAuthWire

/// `GET` and `POST /authorize`: OpenID Connect Core §3.1.2.
struct AuthorizeController: Sendable {
    let provider: Provider

    func authorize(_ request: Request, _ context: some RequestContext) async -> Response {
        do throws(AuthorizationError) {
            guard let parameters = try? await request.parameters() else {
                throw .page("The app sent a request that cannot be read.")
            }
            return try await answer(AuthorizationParameters(parameters, provider: provider), to: request)
        } catch {
            return refuse(error)
        }
    }

    private func answer(
        _ parameters: AuthorizationParameters, to request: Request
    ) async throws(AuthorizationError) -> Response {
        let now = provider.now()
        if let session = await provider.state.session(cookie: request.cookies[BrowserCookie.session]?.value, at: now),
            parameters.isSatisfied(by: session, at: now)
        {
            let code = await provider.state.issueCode(for: parameters.request, in: session, at: now)
            return provider.redirect(parameters.request, code: code)
        }
        guard parameters.prompt != .none else {
            throw .redirect(
                to: parameters.request.redirectURI, state: parameters.request.state, .loginRequired,
                "the user has to log in")
        }
        let known = request.cookies[BrowserCookie.browser]?.value
        let browser = known.flatMap { $0.utf8.count == 43 ? $0 : nil } ?? RandomToken.make()
        let login = await provider.state.openLogin(for: parameters.request, browser: browser, at: now)
        var response = Response.page(.login(login, username: parameters.loginHint))
        response.setCookie(BrowserCookie.make(BrowserCookie.browser, browser))
        return response
    }

    private func refuse(_ error: AuthorizationError) -> Response {
        switch error {
        case .page(let text): .page(.problem(text), status: .badRequest)
        case .redirect(let uri, let state, let code, let description):
            provider.redirect(
                to: uri, [("error", code.rawValue), ("error_description", description)], state: state)
        }
    }
}

extension Provider {
    /// Sends the browser back to the app with a code.
    func redirect(_ request: AuthorizationRequest, code: String) -> Response {
        redirect(to: request.redirectURI, [("code", code)], state: request.state)
    }

    /// Sends the browser back to the app. `iss` tells it which provider answered (RFC 9207 §2), errors included.
    func redirect(to uri: String, _ parameters: [(name: String, value: String)], state: String?) -> Response {
        let all = parameters + (state.map { [("state", $0)] } ?? []) + [("iss", configuration.issuer)]
        let query = String(decoding: FormEncoder.encode(all), as: UTF8.self)
        return .seeOther(uri + (uri.utf8.contains(UInt8(ascii: "?")) ? "&" : "?") + query)
    }
}
