import Crypto
import Foundation
import OAuthWire
import StrictCoding

/// A person with a browser: logs in at the development identity provider's page for an app.
package struct BrowserLogin: Sendable {
    package struct Failure: Error {
        package let step: String
        package let answer: String
    }

    /// What the app holds afterwards.
    package struct Outcome: Sendable {
        package let idToken: String
        /// The app's own `device_id`, or the `device_secret` that it was given.
        package let device: String
    }

    package let port: UInt16
    package let client: String
    package let redirectURI: String
    package let username: String
    package let password: String

    package init(port: UInt16, client: String, redirectURI: String, username: String, password: String) {
        self.port = port
        self.client = client
        self.redirectURI = redirectURI
        self.username = username
        self.password = password
    }

    package func run(_ profile: NativeProfile) async throws -> Outcome {
        let verifier = Unguessable.make()
        let code = try await code(profile, verifier)
        let deviceID = Unguessable.make()
        var form = TokenForm([
            "grant_type": "authorization_code", "client_id": client, "code": code, "redirect_uri": redirectURI,
            "code_verifier": verifier,
        ])
        if profile == .deviceID { form["device_id"] = deviceID }
        let answer = try await HTTPRequest.token(form.parameters).send(to: port)
        guard answer.status == 200, let tokens = answer.json, let idToken = tokens.string("id_token"),
            let device = profile == .deviceID ? deviceID : tokens.string("device_secret")
        else { throw Failure(step: "token", answer: answer.text) }
        return Outcome(idToken: idToken, device: device)
    }

    /// Logs in and returns the authorization code, not yet redeemed.
    package func code(_ profile: NativeProfile, _ verifier: String) async throws -> String {
        let challenge = Base64URL.encode(Array(SHA256.hash(data: Array(verifier.utf8))))
        let request: KeyValuePairs = [
            "response_type": "code", "client_id": client, "redirect_uri": redirectURI,
            "scope": profile == .deviceID ? "openid profile" : "openid profile device_sso",
            "state": "s", "nonce": "n", "code_challenge": challenge, "code_challenge_method": "S256",
        ]
        let query = FormEncoder.encode(request.map { (name: $0.key, value: $0.value) })
        let address = "http://127.0.0.1:\(port)/authorize?" + String(decoding: query, as: UTF8.self)
        let browser = UserAgent()
        guard case .page(let page) = try await browser.open(address), page.status == 200 else {
            throw Failure(step: "authorize", answer: address)
        }
        let outcome = try await browser.submit(page, ["username": username, "password": password])
        guard case .app(let callback) = outcome,
            let code = URLComponents(string: callback)?.queryItems?.first(where: { $0.name == "code" })?.value
        else { throw Failure(step: "login", answer: "\(outcome)") }
        return code
    }
}
