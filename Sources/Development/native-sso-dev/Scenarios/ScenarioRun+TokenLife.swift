import BrokerHarness
import Foundation
import JOSE
import NativeSSOClient
import OAuthWire
import StrictCoding
import TokenVerifier

/// Document 001: the same system with token validation, silent authentication and key rotation.
extension ScenarioRun {
    private func step(_ step: String, _ text: String) { narrator.step(.systemAgain, step, text) }

    func firstLoginAgain() async throws {
        let app = SampleApp.client
        let attempt = attempt(for: app)
        step("1.1", "\(app.clientID) makes code_verifier, code_challenge, state and nonce")
        let browser = UserAgent { [narrator] in narrator.visit($0) }
        step("1.2", "the browser opens the authorization request")
        let page = try await form(of: attempt, in: browser)
        step("1.3", "alice logs in")
        let callback = try await fillIn(page, in: browser)
        step("1.4", "the browser is sent to \(Narrator.address(callback))")
        step("1.5", "the app checks the state and sends code and code_verifier")
        let login = try await finish(app, attempt, callback, browser)
        keep(login)
        step("1.6", "the app checks the id_token: signature, iss, aud, exp, nonce")
        guard let idToken = login.tokens.idToken else { throw StepFailure("there is no id_token") }
        let claims = try await verifiedClaims(idToken)
        try expect(claims.string("nonce") == attempt.nonce, "the nonce is the app's")
        try expect(claims.string("aud") == app.clientID, "aud is the app")
        step("1.7", "the app asks ServerA")
        let answer = try await call(.a, with: login.tokens.accessToken, by: app)
        step("1.8", "ServerA has verified kid, signature, exp, iss and aud, and knows sub, roles and email")
        try expect(answer?.strings("roles") == ["user"], "ServerA knows the roles")
        step("1.9", "the same token at ServerB: no second login")
        try await call(.b, with: login.tokens.accessToken, by: app)
    }

    func validToken() async throws {
        let login = try login(of: .client)
        let buffer: Int64 = 30
        let expiry = try TokenClaims.time("exp", of: login.tokens.accessToken)
        step("2a.1", "the app reads exp: \(expiry - now()) s are left")
        try expect(expiry > now() + buffer, "the token is still valid")
        step("2a.2", "it uses the token as it is")
        let before = tokenRequestCount
        try await callServers(with: login.tokens.accessToken, by: login.app)
        try expect(tokenRequestCount == before, "no token was asked for")
    }

    func refreshWithRotation() async throws {
        let login = try await logIn(.client, expired: "access_token")
        let idp = endpoint(of: login.app, atBroker: false)
        guard let first = login.tokens.refreshToken else { throw StepFailure("there is no refresh token") }
        step("2b.1", "the access token has expired; the app sends its refresh token")
        let tokens = try await idp.refresh(first)
        step("2b.2", "the IdP has checked the token and rotated it")
        guard let second = tokens.refreshToken, second.secret != first.secret else {
            throw StepFailure("the refresh token does not rotate")
        }
        step("2b.3", "there are a new access token and a new id_token, too")
        try expect(tokens.idToken != nil, "the answer has an id_token")
        step("2b.4", "the app goes on")
        try await callServers(with: tokens.accessToken, by: login.app)
        step("2b.5", "the older refresh token is used once more: it is refused, and so is its successor from now on")
        try await expectRefusal(.invalidGrant) { () async throws(ClientError) in try await idp.refresh(first) }
        try await expectRefusal(.invalidGrant) { () async throws(ClientError) in try await idp.refresh(second) }
    }

    func silentAuthentication() async throws {
        let login = try await logIn(.client, expired: "access_token refresh_token")
        let idp = endpoint(of: login.app, atBroker: false)
        guard let token = login.tokens.refreshToken else { throw StepFailure("there is no refresh token") }
        step("2c.1", "the refresh token has expired, too")
        try await expectRefusal(.invalidGrant) { () async throws(ClientError) in try await idp.refresh(token) }
        step("2c.2", "prompt=none: the browser's session still lives, so that no page is shown")
        let attempt = attempt(for: login.app)
        let silent = try callback(of: try await login.browser.open(attempt.address(prompt: "none")))
        let fresh = try await finish(login.app, attempt, silent, login.browser)
        try await call(.a, with: fresh.tokens.accessToken, by: login.app)
        step("2c.3", "prompt=none in a browser without a session: login_required, and the user sees the login page")
        let stranger = self.attempt(for: login.app)
        let refusal = try callback(of: try await UserAgent().open(stranger.address(prompt: "none")))
        try expectCallback(.refused("login_required"), refusal, of: stranger)
        _ = try await form(of: stranger, in: UserAgent())
    }

    func keyCachePolicy() async throws {
        let token = try await logIn(.client).tokens.accessToken
        let probe = try KeyPolicyProbe(issuer: issuer, issuedAt: try TokenClaims.time("iat", of: token))
        try await probe.run(token) { [narrator] in narrator.step(.systemAgain, "JWKS", $0) }
    }

    func keyRotation() async throws {
        let app = SampleApp.client
        let old = try await tokensOfProvider(for: app).accessToken
        step("rotation.1", "the IdP gets a new key and publishes it beside the old one")
        let before = try await keyIDs()
        guard let pid = description.processes[profile.isEnrolled ? "plain-identity-provider" : "identity-provider"],
            let broker = description.processes["broker"]
        else { throw StepFailure("the IdP or the broker has no process") }
        kill(pid, SIGHUP)
        let after = try await eventually("the IdP publishes another key") { @Sendable () async throws -> [String]? in
            let ids = try await keyIDs()
            return ids.count > before.count ? ids : nil
        }
        try expect(Set(before).isSubset(of: after), "the old key stays published")
        step("rotation.2", "new tokens name the new key")
        let new = try await tokensOfProvider(for: app).accessToken
        let kid = try CompactJWS(new.secret).header.keyID
        try expect(kid.map { !before.contains($0) } == true, "kid is new")
        step("rotation.3", "the servers meet an unknown kid, fetch the JWKS again and take the token")
        try await callServers(with: new, by: app)
        step("rotation.4", "tokens of the old key are good until they expire")
        try await call(.a, with: old, by: app)
        step("rotation.5", "the IdP and the broker stand still: the servers take their tokens, and ask no other server")
        // Of a login under an old key: the broker looks for new ones less often than the servers do.
        let brokers = try await brokerToken(try login(of: .one))
        try await callServers(with: brokers, by: app)
        for process in [pid, broker] { kill(process, SIGSTOP) }
        defer { for process in [pid, broker] { kill(process, SIGCONT) } }
        for token in [new, brokers] {
            try await callServers(with: token, by: app)
        }
        // The next new key is a second or more later: the servers look for an unknown key once a second.
        try await Expiry.wait(until: now() + 1)
    }

    /// A login that is not shared.
    private func tokensOfProvider(for app: SampleApp) async throws -> TokenSet {
        let attempt = attempt(for: app)
        let browser = UserAgent()
        let code = try attempt.code(from: try await fillIn(try await form(of: attempt, in: browser), in: browser))
        return try await endpoint(of: app, atBroker: false).redeem(code, of: attempt, at: now())
    }

    private nonisolated func keyIDs() async throws -> [String] {
        guard let loader = HTTPKeySetLoader(issuer + "/.well-known/jwks.json") else { throw StepFailure("no key set") }
        return try JSONWebKeySet(document: try await loader.load().octets).keys.compactMap(\.keyID)
    }
}
