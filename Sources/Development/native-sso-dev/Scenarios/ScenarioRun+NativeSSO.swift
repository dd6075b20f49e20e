import BrokerHarness
import Foundation
import NativeSSOClient
import OAuthWire
import StrictCoding
import Synchronization

/// Document 002: the profile of 2018, its successors, and enrolled logins.
extension ScenarioRun {
    private func step(_ number: Int, _ text: String) { narrator.step(.nativeSSO, "[\(number)]", text) }

    func appOne() async throws {
        let app = SampleApp.one
        step(0, profile.deviceValue)
        let attempt = attempt(for: app)
        step(1, "app-one starts a login: \(Narrator.short(attempt.verifier.text)) is its code_verifier")
        let browser = UserAgent { [narrator] in narrator.visit($0) }
        step(2, "the system browser opens the authorization request")
        let page = try await form(of: attempt, in: browser)
        step(3, "the IdP asks the user to log in")
        step(4, "alice fills in the form")
        let callback = try await fillIn(page, in: browser)
        step(5, "the browser is sent to \(Narrator.address(callback))")
        step(6, "app-one finds its own state and iss in it, and a code")
        step(7, profile.redemption)
        let login = try await finish(app, attempt, callback, browser)
        step(8, "the id_token is bound to the device and to a session")
        guard let claims = TokenClaims.read(login.shared.idToken) else { throw StepFailure("the id_token is no JWT") }
        try show(["iss", "sub", "aud", "sid", profile.hashClaim, "auth_time", "acr"], of: claims, in: "id_token")
        try expect(claims.string("iss") == sharedIssuer, "iss is \(sharedIssuer)")
        try await login.shared.save(to: device.shared)
        narrator.note("app-one writes both to the shared keychain")
        keep(login)
    }

    func appTwo() async throws {
        let login = try login(of: .one)
        step(9, "app-two finds the login in the shared keychain and exchanges it at the broker")
        let two = try start(.two)
        let token = try await two.accessToken()
        step(10, "app-two has tokens of its own, without a browser")
        let claims = try await verifiedClaims(token, type: "at+jwt")
        try show(["iss", "sub", "aud", "client_id", "scope", "exp"], of: claims, in: "access token")
        try expect(claims.string("client_id") == SampleApp.two.clientID, "the access token is app-two's")
        try expect(claims.string("iss") == description.broker, "the access token comes from the broker")
        narrator.note("app-one exchanges its own id_token, which the broker allows it")
        let one = try await endpoint(of: .one, atBroker: true).exchange(login.shared, issuer: sharedIssuer)
        narrator.note("both servers take both apps' tokens, by the broker's keys")
        try await callServers(with: token, by: .two)
        try await callServers(with: one.accessToken, by: .one)
    }

    /// What 2A to 2C of document 000 are at the broker.
    func appTwoGoesOn() async throws {
        let two = try start(.two)
        narrator.step(.nativeSSO, "2B", "app-two is killed and started again: its own keychain holds a refresh token")
        let token = try await two.accessToken()
        let before = tokenRequestCount
        narrator.step(.nativeSSO, "2A", "its access token is in memory and valid")
        _ = try await two.accessToken()
        try expect(tokenRequestCount == before, "no token was asked for")
        narrator.step(.nativeSSO, "2C", "by the phone's clock its token has expired: it refreshes before it is refused")
        device.clockAhead.store(86_400, ordering: .relaxed)
        let fresh = try await two.accessToken()
        device.clockAhead.store(0, ordering: .relaxed)
        try expect(tokenRequestCount == before + 1 && fresh.secret != token.secret, "the app got another token")
        try await call(.a, with: fresh, by: .two)
    }

    func logOutAtProvider() async throws {
        // A user of its own: a plain IdP names the user alone, and the broker ends all of that user's logins.
        let login = try await logIn(.one, as: "bob")
        try await login.shared.save(to: device.shared)
        try await device.keychain(of: .two).removeItem(AppTokens.item)
        let two = try start(.two)
        let token = try await two.accessToken()
        narrator.step(.nativeSSO, "logout", "bob logs out at the IdP, which tells the broker by itself")
        let page = try await login.browser.open(issuer + "/logout")
        guard case .page(let page) = page, page.status == 200,
            case .page(let end) = try await login.browser.submit(page, [:]), end.status == 200
        else { throw StepFailure("the IdP does not log bob out") }
        narrator.note("IdP → broker: POST /backchannel-logout, a signed logout token")
        narrator.step(.nativeSSO, "logout", "app-two's refresh token is refused at once")
        try await expectRefusal(.invalidGrant) { () async throws(ClientError) in
            try await two.accessToken(insteadOf: token)
        }
        // The next login of this user begins in a later second.
        try await Expiry.wait(until: now())
    }

    func endSessionAsOperator() async throws {
        let login = try await logIn(.one)
        try await login.shared.save(to: device.shared)
        try await device.keychain(of: .two).removeItem(AppTokens.item)
        let two = try start(.two)
        let token = try await two.accessToken()
        guard let sid = TokenClaims.read(login.shared.idToken)?.string("sid") else {
            throw StepFailure("the id_token has no sid")
        }
        narrator.step(.nativeSSO, "6.3", "the operator ends the session: native-sso session end --sid … --execute")
        let ended = try await description.administer([
            "session", "end", "--issuer", issuer, "--sid", sid, "--reason", "demonstration", "--execute",
        ])
        try expect(ended.status == 0, "session end succeeds, not: \(ended.errors)")
        narrator.step(.nativeSSO, "6.3", "the session is no longer valid: invalid_grant to both apps")
        try await expectRefusal(.invalidGrant) { () async throws(ClientError) in
            try await two.accessToken(insteadOf: token)
        }
        let one = endpoint(of: .one, atBroker: true)
        try await expectRefusal(.invalidGrant) { () async throws(ClientError) in
            try await one.exchange(login.shared, issuer: sharedIssuer)
        }
    }
}
