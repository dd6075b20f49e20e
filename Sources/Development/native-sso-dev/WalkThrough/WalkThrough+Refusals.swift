import BrokerHarness
import NativeSSOClient
import OAuthWire
import StrictCoding

/// Steps 15 to 20: who gets nothing, and the end of the session.
extension WalkThrough {
    func refuse(_ login: SharedLogin) async throws {
        let two = try start(.two).endpoint
        narrator.step(15, "a stolen id_token without the device's value is worth nothing")
        let stolen = SharedLogin(idToken: login.idToken, device: profile.foreignDevice)
        try await expectRefusal(.invalidGrant) { () async throws(ClientError) in
            try await two.exchange(stolen, issuer: description.identityProvider)
        }

        let three = try start(.three).endpoint
        narrator.step(16, "an app of another vendor is refused, even with everything in hand")
        try await expectRefusal(.invalidGrant) { () async throws(ClientError) in
            try await three.exchange(login, issuer: description.identityProvider)
        }

        narrator.step(17, "a scope that needs the user's consent cannot be had without the user")
        try await expectRefusal(profile.consentRefusal) { () async throws(ClientError) in
            try await two.exchange(
                login, issuer: description.identityProvider, scope: "openid \(SampleApp.consentScope)")
        }
    }

    /// The user logs out at the identity provider, which tells the broker: from the next request on, nothing is issued in the
    /// session.
    func logOut(_ login: SharedLogin, _ apps: DemonstrationApp...) async throws {
        narrator.step(
            18, "both apps hold good tokens when the user logs out; the identity provider tells the broker by itself")
        var held: [(DemonstrationApp, Credential)] = []
        for app in apps { held.append((app, try await app.tokens.accessToken())) }
        let hint = FormEncoder.encode([(name: "id_token_hint", value: login.idToken.secret)])
        let page = try await UserAgent().open(
            description.identityProvider + "/logout?" + String(decoding: hint, as: UTF8.self))
        guard case .page(let page) = page, page.status == 200 else {
            throw StepFailure("the identity provider does not log the user out")
        }
        narrator.note("GET \(description.identityProvider)/logout?id_token_hint=… ← \(page.status)")
        narrator.note("identity provider → broker: POST /backchannel-logout, a signed logout token")
        narrator.note("access tokens that are out last until they expire; nothing new is issued")
        for (number, (app, token)) in zip(19..., held) {
            narrator.step(
                number, "\(app.app.clientID) is refused at once, first its refresh token, then the login itself")
            try await expectRefusal(.invalidGrant) { () async throws(ClientError) in
                try await app.tokens.accessToken(insteadOf: token)
            }
        }
    }

    private func expectRefusal<Value: Sendable>(
        _ code: OAuthErrorCode, _ work: () async throws(ClientError) -> Value
    ) async throws {
        let refusal = try await refusal("the broker refuses with \(code.rawValue)", work)
        try expect(refusal.code == code, "the broker refuses with \(code.rawValue), not \(refusal.error)")
        narrator.note("refused as it should be: \(refusal.status) \(refusal.error)")
    }
}
