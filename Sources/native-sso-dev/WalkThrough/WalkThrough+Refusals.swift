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

    /// The operator ends the session: from the next request on, nothing is issued in it.
    func endSession(_ login: SharedLogin, _ apps: DemonstrationApp...) async throws {
        guard let sid = TokenClaims.read(login.idToken)?.string("sid") else {
            throw StepFailure("the id_token has no sid")
        }
        narrator.step(
            18, "both apps hold good tokens when the operator ends the session with the broker's own command line")
        var held: [(DemonstrationApp, Credential)] = []
        for app in apps { held.append((app, try await app.tokens.accessToken())) }
        let command = try await environment.broker.endSession(
            issuer: description.identityProvider, sid: sid, reason: "walk-through")
        narrator.note("$ \(command)")
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
