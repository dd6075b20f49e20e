import BrokerHarness
import DevelopmentIdP
import Foundation
import NativeSSOClient
import OAuthWire
import StrictCoding

/// Document 003, the developers guide, and document 004, the flow for native applications.
extension ScenarioRun {
    private func step(_ step: String, _ text: String) { narrator.step(.guide, step, text) }

    func signIn() async throws {
        let attempt = attempt(for: .one)
        step(
            "sign-in", "the authorization request: state, code_challenge, scope, client_id, response_type, redirect_uri"
        )
        let query = try FormDecoder.decode(attempt.address().drop { $0 != "?" }.dropFirst().utf8)
        for name in ["state", "code_challenge", "scope", "client_id", "response_type", "redirect_uri"] {
            guard let value = query[name] else { throw StepFailure("the request has no \(name)") }
            narrator.note("\(name): \(name == "state" ? "****" : value)")
        }
        let browser = UserAgent { [narrator] in narrator.visit($0) }
        let callback = try await fillIn(try await form(of: attempt, in: browser), in: browser)
        step("callback", "the app takes the code from \(Narrator.address(callback)) and exchanges it")
        keep(try await finish(.one, attempt, callback, browser))
    }

    func callbackErrors() async throws {
        let attempt = attempt(for: .one)
        let good = "\(attempt.redirectURI)?code=a&state=\(attempt.state)"
        for (what, callback, error) in [
            ("another state: the app fails the login", good.replacing("&state=", with: "&state=x"), .otherState),
            ("no state", "\(attempt.redirectURI)?code=a", .otherState),
            ("no code", "\(attempt.redirectURI)?state=\(attempt.state)", .malformed),
            ("another address", good.replacing("callback?", with: "other?"), .malformed),
            (
                "an error: access_denied", "\(attempt.redirectURI)?error=access_denied&state=\(attempt.state)",
                .refused("access_denied")
            ),
            ("the iss of another IdP", good + "&iss=https%3A%2F%2Flogin.example.test", .otherIssuer),
        ] as [(String, String, CallbackError)] {
            step("callback", what)
            try expectCallback(error, callback, of: attempt)
        }
    }

    func idTokenValidation() async throws {
        let attempt = attempt(for: .one)
        let browser = UserAgent()
        let code = try attempt.code(from: try await fillIn(try await form(of: attempt, in: browser), in: browser))
        step("validation", "a code of another login: the code_verifier does not match, and the code is spent")
        let other = self.attempt(for: .one)
        let idp = endpoint(of: .one, atBroker: false)
        let time = now()
        for attempt in [other, attempt] {
            try await expectRefusal(.invalidGrant) { () async throws(ClientError) in
                try await idp.redeem(code, of: attempt, at: time)
            }
        }
        let login = try await logIn(.one)
        guard let idToken = login.tokens.idToken else { throw StepFailure("there is no id_token") }
        step("validation", "issuer, audience, times and nonce of the id_token, and its signature by the issuer's JWKS")
        let claims = try await verifiedClaims(idToken)
        try expect(claims.string("aud") == SampleApp.one.clientID, "aud is the app")
        try expect(claims.string("nonce") == login.attempt.nonce, "the nonce is the app's")
        try expect((claims.number("exp")?.wholeSeconds ?? 0) > now(), "the id_token has not expired")
        keep(login)
    }

    func userInfo() async throws {
        let login = try login(of: .one)
        step("userinfo", "GET /userinfo with the access token")
        let json = try await userInfo(with: login.tokens.accessToken)
        try expect(
            json?.string("name") == "Alice Example" && json?.string("email") == "alice@example.test", "it is alice")
        step("userinfo", "without a token it is refused")
        let refused = try await PlainHTTP.get(issuer + "/userinfo")
        try expect(refused.status == 401, "401, not \(refused.status)")
    }

    private func userInfo(with token: Credential) async throws -> JSONObject? {
        let answer = try await PlainHTTP.get(issuer + "/userinfo", with: token)
        narrator.note("GET \(issuer)/userinfo ← \(answer.status) \(answer.body)")
        try expect(answer.status == 200, "200, not \(answer.status)")
        return try JSONReader.parse(Array(answer.body.utf8)).object
    }

    func sessionManagement() async throws {
        let login = try login(of: .one)
        step("session", "a second app in the same browser shares the cookie: no form")
        let second = attempt(for: .two)
        _ = try second.code(from: try callback(of: try await login.browser.open(second.address())))
        step("session", "prompt=none with a session: a code, silently")
        let silent = attempt(for: .one)
        _ = try silent.code(from: try callback(of: try await login.browser.open(silent.address(prompt: "none"))))
        step("session", "prompt=none without one: login_required")
        let stranger = attempt(for: .one)
        try expectCallback(
            .refused("login_required"),
            try callback(of: try await UserAgent().open(stranger.address(prompt: "none"))), of: stranger)
        step("session", "prompt=login: the form, although there is a session")
        _ = try await form(of: attempt(for: .one), in: login.browser, prompt: "login")
    }

    func consent() async throws {
        let app = SampleApp.asking(profile)
        let browser = UserAgent { [narrator] in narrator.visit($0) }
        func consentPage(_ outcome: UserAgent.Outcome) throws -> UserAgent.Page {
            guard case .page(let page) = outcome, page.html.contains("action=\"/consent\"") else {
                throw StepFailure("the IdP asks for consent")
            }
            return page
        }
        let alice = try user("alice")
        let first = attempt(for: app)
        step("consent", "\(app.clientID) is of another vendor: alice sees what it asks for, and denies it")
        let login = try await form(of: first, in: browser)
        let page = try consentPage(
            try await browser.submit(login, ["username": alice.username, "password": alice.password]))
        let denied = try callback(of: try await browser.submit(page, [:], pressing: ("decision", "deny")))
        try expectCallback(.refused("access_denied"), denied, of: first)
        step("consent", "prompt=none cannot ask: consent_required")
        let silent = attempt(for: app)
        let refusal = try callback(of: try await browser.open(silent.address(prompt: "none")))
        try expectCallback(.refused("consent_required"), refusal, of: silent)
        step("consent", "alice allows it, and is not asked again")
        let second = attempt(for: app)
        let again = try consentPage(try await browser.open(second.address()))
        _ = try second.code(
            from: try callback(of: try await browser.submit(again, [:], pressing: ("decision", "allow"))))
        let third = attempt(for: app)
        _ = try third.code(from: try callback(of: try await browser.open(third.address(prompt: "none"))))
        step("consent", "prompt=consent asks again")
        _ = try consentPage(try await browser.open(attempt(for: app).address(prompt: "consent")))
    }

    private static let codes = SecondFactorCodes()

    func secondFactor() async throws {
        let carol = try user("carol")
        let browser = UserAgent { [narrator] in narrator.visit($0) }
        let attempt = attempt(for: .one)
        step("methods", "acr_values=urn:example:acr:totp: after the password the IdP asks for a second factor")
        let login = try await form(of: attempt, in: browser, contextClasses: ["urn:example:acr:totp"])
        guard let totp = carol.secondFactor,
            case .page(let page) = try await browser.submit(
                login, ["username": carol.username, "password": carol.password]),
            page.html.contains("action=\"/second-factor\"")
        else { throw StepFailure("the IdP asks for a second factor") }
        let code = try await Self.codes.next(of: totp, at: issuer)
        let callback = try callback(of: try await browser.submit(page, ["code": code]))
        let tokens = try await finish(.one, attempt, callback, browser).tokens
        let acr = TokenClaims.read(tokens.accessToken)?.string("acr")
        try expect(acr == "urn:example:acr:totp", "acr says so")
        narrator.note("acr: \(acr ?? "")")
    }

    func nativeFlow() async throws {
        func step(_ number: Int, _ text: String) { narrator.step(.flow, String(number), text) }
        let app = SampleApp.isv
        step(1, "the user presses the login button of \(app.clientID)")
        let attempt = attempt(for: app, scope: "openid profile email" + profile.extraScope)
        let discovery = try await PlainHTTP.get(issuer + "/.well-known/openid-configuration")
        let metadata = try JSONReader.parse(Array(discovery.body.utf8)).object
        try expect(metadata?.string("authorization_endpoint") == provider.authorizationEndpoint, "discovery names it")
        step(2, "the app looks up the IdP's configuration, makes code_verifier and code_challenge, and opens a browser")
        let browser = UserAgent { [narrator] in narrator.visit($0) }
        let page = try await form(of: attempt, in: browser)
        step(3, "the user logs in")
        let callback = try await fillIn(page, in: browser)
        step(4, "a code is returned to \(Narrator.address(callback))")
        step(5, "the app sends code and code_verifier to the token endpoint")
        let login = try await finish(app, attempt, callback, browser)
        step(6, "BASE64URL(SHA256(code_verifier)) was the code_challenge: the tokens are returned")
        try expect(login.tokens.refreshToken == nil, "without offline_access there is no refresh token")
        guard let idToken = login.tokens.idToken else { throw StepFailure("there is no id_token") }
        step(7, "the app validates the id_token and its signature")
        try expect(try await verifiedClaims(idToken).string("aud") == app.clientID, "aud is the app")
        step(8, "it asks for more about the user, with the access token")
        let user = try await userInfo(with: login.tokens.accessToken)
        step(9, "the IdP returns the user's data")
        step(10, "\(user?.string("name") ?? "") is logged in")
        try expect(user?.string("name") == "Alice Example", "it is alice")
    }
}

/// The codes of one user's second factor: each is good once, so that several logins need several.
private actor SecondFactorCodes {
    private var newest: [String: Int64] = [:]

    func next(of secondFactor: TimeBasedPassword, at issuer: String) async throws -> String {
        // The provider takes the step before now's and the one after it, too.
        let step = max(Int64(time(nil)) / 30 - 1, (newest[issuer] ?? 0) + 1)
        newest[issuer] = step
        try await Expiry.wait(until: (step - 1) * 30 - 1)
        return secondFactor.digits(at: step * 30)
    }
}
