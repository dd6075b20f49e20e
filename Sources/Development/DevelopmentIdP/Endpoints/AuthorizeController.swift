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
        if let session = await provider.state.session(
            cookie: request.cookies[provider.cookies.session]?.value, at: now),
            let user = provider.users.user(subject: session.subject), parameters.isSatisfied(by: session, at: now),
            !provider.needsSecondFactor(user, for: parameters.request)
                || session.authentication.contextClass == .secondFactor
        {
            if parameters.isSilent, await provider.needsConsent(to: parameters.request, of: session) {
                throw refusal(of: parameters, .consentRequired, "the user has to consent")
            }
            return await provider.proceed(parameters.request, in: session, browser: browser(of: request), at: now)
        }
        guard !parameters.isSilent else {
            throw refusal(of: parameters, .loginRequired, "the user has to log in")
        }
        let browser = browser(of: request)
        let login = await provider.state.openPage(.password, for: parameters.request, browser: browser, at: now)
        var response = Response.page(.login(login, username: parameters.loginHint))
        response.setCookie(BrowserCookie.make(provider.cookies.browser, browser))
        return response
    }

    /// The name of the browser from its cookie, or a new one.
    private func browser(of request: Request) -> String {
        let known = request.cookies[provider.cookies.browser]?.value
        return known.flatMap { $0.utf8.count == 43 ? $0 : nil } ?? RandomToken.make()
    }

    private func refusal(
        of parameters: AuthorizationParameters, _ code: AuthorizationError.Code, _ description: String
    ) -> AuthorizationError {
        .redirect(to: parameters.request.redirectURI, state: parameters.request.state, code, description)
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
    func needsSecondFactor(_ user: User, for request: AuthorizationRequest) -> Bool {
        user.secondFactor != nil && (user.alwaysUsesSecondFactor || request.contextClass == .secondFactor)
    }

    func needsConsent(to request: AuthorizationRequest, of session: LoginSession) async -> Bool {
        if request.promptsConsent { return true }
        guard configuration.client(request.clientID)?.requiresConsent == true else { return false }
        return await !state.hasConsent(of: session.subject, to: request)
    }

    /// The user is logged in: asks for consent where it is needed, or sends the browser back to the app with a code.
    func proceed(
        _ request: AuthorizationRequest, in session: LoginSession, browser: String, at now: Int64
    ) async -> Response {
        guard await needsConsent(to: request, of: session) else { return await answer(request, in: session, at: now) }
        let page = await state.openPage(.consent(sid: session.sid), for: request, browser: browser, at: now)
        var response = Response.page(.consent(page))
        response.setCookie(BrowserCookie.make(cookies.browser, browser))
        return response
    }

    /// Sends the browser back to the app with a code.
    func answer(_ request: AuthorizationRequest, in session: LoginSession, at now: Int64) async -> Response {
        let code = await state.issueCode(for: request, in: session, at: now)
        return redirect(to: request.redirectURI, [("code", code)], state: request.state)
    }

    /// Sends the browser back to the app. `iss` tells it which provider answered (RFC 9207 §2), errors included.
    func redirect(to uri: String, _ parameters: [(name: String, value: String)], state: String?) -> Response {
        let all = parameters + (state.map { [("state", $0)] } ?? []) + [("iss", configuration.issuer)]
        let query = String(decoding: FormEncoder.encode(all), as: UTF8.self)
        return .seeOther(uri + (uri.utf8.contains(UInt8(ascii: "?")) ? "&" : "?") + query)
    }
}
