import BrokerHarness
import DevelopmentIdP
import Foundation
import NativeSSOClient
import OAuthWire
import StrictCoding
import Synchronization

/// Document 000: a mobile app at its identity provider, with ServerA and ServerB.
extension ScenarioRun {
    private func step(_ step: String, _ text: String) { narrator.step(.system, step, text) }

    /// The app's keychain item with the identity provider's refresh token.
    private static let item = "idp-refresh-token"

    func firstLogin() async throws {
        let app = SampleApp.mobile
        let keychain = try device.keychain(of: app)
        step("1.1", "\(app.clientID) starts: no access token in memory, no refresh token in its keychain")
        try expect(try await keychain.item(Self.item) == nil, "the keychain is empty")
        let attempt = attempt(for: app)
        step("1.2", "it makes code_verifier \(Narrator.short(attempt.verifier.text)) and state, in memory")
        step("1.3", "it opens the system browser; the redirect URI is \(app.redirectURI)")
        let browser = UserAgent { [narrator] in narrator.visit($0) }
        step("1.4", "the browser asks the IdP, without a session's cookie")
        let page = try await form(of: attempt, in: browser)
        step("1.5", "the IdP shows its login page: \(page.status), text/html")
        try expect(page.html.contains("name=\"password\""), "the page asks for a password")
        step("1.6", "alice sends the form in the browser; the app never sees her password")
        let callback = try await fillIn(page, in: browser)
        let password = try user("alice").password
        try expect(!callback.contains(password), "the callback has no password")
        step("1.7", "the IdP sets the session's cookie in the browser and answers with a code and the state")
        step("1.8", "the browser is sent to \(Narrator.address(callback)); the system starts the app")
        let code = try attempt.code(from: callback)
        step("1.9", "the app finds its own state, and the code \(Narrator.short(code.secret))")
        step("1.10", "the app sends the code with its code_verifier, without a client secret")
        let login = try await finish(app, attempt, callback, browser)
        keep(login)
        step("1.11", "the IdP's tokens are JWTs that it signed with RS256")
        try await check(login.tokens)
        try expect(!passwordWasSent.load(ordering: .relaxed), "the app has sent no password")
        guard let refreshToken = login.tokens.refreshToken else { throw StepFailure("there is no refresh token") }
        step("1.12", "access token and id_token stay in memory; the refresh token goes to the keychain")
        try await keychain.setItem(Self.item, Array(refreshToken.secret.utf8))
        step("1.13", "the app asks ServerA")
        let a = try await call(.a, with: login.tokens.accessToken, by: app)
        step("1.14", "ServerA has verified the token with the keys that it holds")
        step("1.15", "ServerA has answered alice")
        try expect(
            a?.string("user") == "alice@example.test" && a?.string("source") == "server-a", "ServerA knows alice")
        step("1.16", "the same token at ServerB: aud and scope name both")
        let b = try await call(.b, with: login.tokens.accessToken, by: app)
        step("1.17", "ServerB has answered")
        try expect(b?.string("source") == "server-b", "ServerB answers")
    }

    /// The payloads of step 11.
    private func check(_ tokens: TokenSet) async throws {
        let access = try await verifiedClaims(tokens.accessToken, type: "at+jwt")
        let names = ["iss", "sub", "aud", "exp", "iat", "nbf", "jti", "email", "scope", "roles"]
        try show(names, of: access, in: "access token")
        try expect(access.string("iss") == issuer, "iss is the IdP")
        try expect(access.strings("aud") == SampleAPI.all.map(\.audience), "aud names both servers")
        guard let idToken = tokens.idToken else { throw StepFailure("there is no id_token") }
        let identity = try await verifiedClaims(idToken)
        try expect(identity.string("aud") == SampleApp.mobile.clientID, "aud of the id_token is the app")
        try expect(identity.contains("nonce"), "the id_token has the nonce")
    }

    func tokenInMemory() async throws {
        let login = try login(of: .mobile)
        step("2A", "the access token is in memory and valid: both servers, and no request to the IdP")
        let before = tokenRequestCount
        try await callServers(with: login.tokens.accessToken, by: login.app)
        try expect(tokenRequestCount == before, "no token was asked for")
    }

    func killedApp() async throws {
        let login = try login(of: .mobile)
        let keychain = try device.keychain(of: login.app)
        step("2B.1", "the app was killed: its memory is empty, its keychain holds the refresh token")
        guard let token = try await keychain.item(Self.item) else { throw StepFailure("the keychain is empty") }
        step("2B.2", "it sends the refresh token, without a secret and without PKCE")
        let stored = Credential(String(decoding: token, as: UTF8.self))
        let tokens = try await endpoint(of: login.app, atBroker: false).refresh(stored)
        step("2B.3", "the IdP finds token, session and client as they should be")
        step("2B.4", "it answers with a new access token and a new refresh token")
        guard let rotated = tokens.refreshToken, rotated.secret != stored.secret else {
            throw StepFailure("the refresh token does not rotate")
        }
        step("2B.5", "the new refresh token replaces the old one in the keychain")
        try await keychain.setItem(Self.item, Array(rotated.secret.utf8))
        step("2B.6", "the app goes on")
        try await call(.a, with: tokens.accessToken, by: login.app)
        keep(
            Login(
                app: login.app, attempt: login.attempt, browser: login.browser, tokens: tokens, shared: login.shared))
    }

    func expiredToken() async throws {
        let login = try await logIn(.mobile, expired: "access_token")
        guard let token = login.tokens.refreshToken else { throw StepFailure("there is nothing to refresh") }
        step("2C", "the access token has expired in the foreground; the server answers 401")
        try await call(.a, with: login.tokens.accessToken, by: login.app, expecting: 401)
        step("2C", "the interceptor refreshes and sends the request once more")
        let tokens = try await endpoint(of: login.app, atBroker: false).refresh(token)
        guard let rotated = tokens.refreshToken else { throw StepFailure("the refresh token does not rotate") }
        try await device.keychain(of: login.app).setItem(Self.item, Array(rotated.secret.utf8))
        try await call(.a, with: tokens.accessToken, by: login.app)
    }

    func tokenValidation() async throws {
        let app = SampleApp.mobile
        let login = try await logIn(app)
        let token = login.tokens.accessToken
        let refused: [(what: String, token: Credential?)] = [
            ("no token", nil), ("a changed signature", Self.bent(token)),
            ("a key that the JWKS does not have, looked up once more", Self.withUnknownKey(token)),
            ("an id_token", login.tokens.idToken),
        ]
        for (what, token) in refused {
            step("14", "the server refuses: \(what)")
            try await call(.a, with: token, by: app, expecting: 401)
        }
        step("14", "a token for ServerB alone is refused by ServerA")
        let forB = try await logIn(app, scope: "openid \(SampleAPI.b.scope)" + profile.extraScope).tokens.accessToken
        try await call(.a, with: forB, by: app, expecting: 401)
        try await call(.b, with: forB, by: app)
        step("14", "a token of the broker for ServerA, without its scope, is refused by ServerA: insufficient_scope")
        try await call(.a, with: brokerToken(login, scope: "openid profile"), by: app, expecting: 403)
        step("14", "ServerA and ServerB take the tokens of both issuers: the IdP's and the broker's")
        try await callServers(with: token, by: app)
        try await callServers(with: try await brokerToken(login), by: app)
    }

    func brokerToken(_ login: Login, scope: String? = nil) async throws -> Credential {
        let broker = endpoint(of: login.app, atBroker: true)
        return try await broker.exchange(login.shared, issuer: sharedIssuer, scope: scope).accessToken
    }

    /// Another character in the signature.
    private static func bent(_ token: Credential) -> Credential {
        let text = Array(token.secret.utf8)
        let middle = text.count - 20
        let other = UInt8(ascii: text[middle] == UInt8(ascii: "A") ? "B" : "A")
        return Credential(String(decoding: text[..<middle] + [other] + text[(middle + 1)...], as: UTF8.self))
    }

    /// The same token under a header that names another key.
    static func withUnknownKey(_ token: Credential) -> Credential {
        let header = Base64URL.encode(Array(#"{"alg":"RS256","kid":"unknown","typ":"at+jwt"}"#.utf8))
        return Credential(
            ([header] + token.secret.split(separator: ".").dropFirst().map(String.init)).joined(separator: "."))
    }

    func storage() async throws {
        let login = try login(of: .mobile)
        step("storage", "access token: in memory only, gone when the app is killed")
        step(
            "storage",
            "id_token: in memory; Native SSO keeps it, with the device value, in the keychain that the apps share")
        step("storage", "refresh token: in the app's own keychain, which survives")
        try expect(try await device.keychain(of: login.app).item(Self.item) != nil, "the refresh token is there")
        for path in try FileManager.default.subpathsOfDirectory(atPath: device.directory) {
            let file = "\(device.directory)/\(path)"
            guard let content = FileManager.default.contents(atPath: file) else { continue }  // a directory
            let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
            try expect(mode == 0o600, "no other account can read \(path)")
            try expect(
                content.firstRange(of: Data(login.tokens.accessToken.secret.utf8)) == nil, "no access token in \(path)")
        }
    }

    func expiredRefreshToken() async throws {
        let login = try await logIn(.mobile, expired: "access_token refresh_token")
        let idp = endpoint(of: login.app, atBroker: false)
        guard let token = login.tokens.refreshToken else { throw StepFailure("there is no refresh token") }
        step("2D.1", "the refresh token has expired")
        try await expectRefusal(.invalidGrant) { () async throws(ClientError) in try await idp.refresh(token) }
        step("2D.2", "the app removes its tokens and starts a login")
        try await device.keychain(of: login.app).removeItem(Self.item)
        step("2D.3", "the browser still has the session's cookie: no form, a code at once")
        let attempt = attempt(for: login.app)
        let callback = try callback(of: try await login.browser.open(attempt.address()))
        step("2D.4", "the app redeems the code and goes on")
        let fresh = try await finish(login.app, attempt, callback, login.browser)
        try await call(.a, with: fresh.tokens.accessToken, by: login.app)
    }
}
