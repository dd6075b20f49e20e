import BrokerHarness
import Foundation
import NativeSSOClient
import OAuthWire
import StrictCoding

/// Document 003: an app hands its login to a web app in the device's browser.
extension ScenarioRun {
    private func step(_ text: String) { narrator.step(.guide, "hand-off", text) }

    func handOffToWeb() async throws {
        let login = try await logIn(.one)
        let own = try await endpoint(of: .one, atBroker: true).exchange(login.shared, issuer: sharedIssuer)
        step("the web app makes a verifier for this browser, and opens app-one with the challenge")
        let verifier = CodeVerifier()
        step("no code for an origin that is not the web app's")
        try await expectRefusal(.invalidGrant) { () async throws(ClientError) in
            try await handoffCode(of: login, for: verifier, at: Self.otherOrigin)
        }
        step("no code for an app without the permission to hand off")
        try await expectRefusal(.invalidGrant) { () async throws(ClientError) in
            try await handoffCode(of: login, for: verifier, by: .two)
        }
        step("app-one gets a code, and opens it at the web app in the browser")
        let code = try await handoffCode(of: login, for: verifier)
        step("the code in another browser, which has another verifier: invalid_grant")
        try await expectRefusal(of: try await redeem(code, CodeVerifier()))
        step("the web app names another origin than app-one did: invalid_grant")
        try await expectRefusal(of: try await redeem(code, verifier, at: Self.otherOrigin))
        step("the web app's server exchanges the code: an access token and an id_token, no refresh token")
        let token = try await check(try await redeem(code, verifier), sessionOf: own)
        step("the token is for ServerA: ServerA takes it, ServerB refuses it")
        try await call(.a, with: token, by: .web)
        try await call(.b, with: token, by: .web, expecting: 401)
        step("the same code once more: invalid_grant")
        try await expectRefusal(of: try await redeem(code, verifier))
    }

    /// The same without the refusals, for the page.
    func openWebApp(with login: Login) async throws {
        let verifier = CodeVerifier()
        let answer = try await redeem(try await handoffCode(of: login, for: verifier), verifier)
        try expect(answer.status == 200, "The broker answers 200, not \(answer.status)")
    }

    private static let otherOrigin = "https://other.example.test"

    private nonisolated func handoffCode(
        of login: Login, for verifier: CodeVerifier, by app: SampleApp = .one, at origin: String = SampleApp.webOrigin
    ) async throws(ClientError) -> Credential {
        try await endpoint(of: app, atBroker: true).handOff(
            login.shared, issuer: sharedIssuer, to: SampleApp.web.clientID, origin: origin,
            challenge: verifier.challenge)
    }

    /// The request of the web app's server.
    private func redeem(
        _ code: Credential, _ verifier: CodeVerifier, at origin: String = SampleApp.webOrigin
    ) async throws -> TransportResponse {
        let secret = try String(contentsOfFile: description.layout.webAppSecret, encoding: .utf8)
        let client = BasicCredentials(clientID: SampleApp.web.clientID, clientSecret: Credential(secret))
        let form = TokenForm.redemption(code.secret, verifier: verifier.text, origin: origin)
        return try await transport(of: .web).send(
            TransportRequest(
                description.tokenEndpoint, method: "POST",
                fields: [
                    ("Content-Type", "application/x-www-form-urlencoded"), ("Authorization", client.headerValue),
                ], body: FormEncoder.encode(form.parameters)))
    }

    /// - Returns: The web app's access token, which is of the same session as the app's own tokens.
    private func check(_ answer: TransportResponse, sessionOf own: TokenSet) async throws -> Credential {
        guard answer.status == 200, let json = (try? JSONReader.parse(answer.body))?.object,
            let token = json.string("access_token"), let idToken = json.string("id_token")
        else { throw StepFailure("200 with both tokens, not \(answer.status)") }
        try expect(!json.contains("refresh_token"), "there is no refresh token")
        let access = try await verifiedClaims(Credential(token), type: "at+jwt")
        let identity = try await verifiedClaims(Credential(idToken))
        let session = try await verifiedClaims(own.accessToken).string("session_id")
        for (name, value, expected) in [
            ("client_id", access.string("client_id"), SampleApp.web.clientID),
            ("aud", identity.string("aud"), SampleApp.web.clientID),
            ("session_id", access.string("session_id"), session), ("sid", identity.string("sid"), session),
        ] as [(String, String?, String?)] {
            try expect(expected != nil && value == expected, "\(name) is \(expected ?? "there")")
        }
        return Credential(token)
    }

    private func expectRefusal(of answer: TransportResponse) async throws {
        let error = (try? JSONReader.parse(answer.body))?.object?.string("error") ?? ""
        try expect(answer.status == 400 && error == "invalid_grant", "invalid_grant, not \(answer.status) \(error)")
        try await tell(answer.status, error, answer[field: "X-Request-Id"])
    }
}
