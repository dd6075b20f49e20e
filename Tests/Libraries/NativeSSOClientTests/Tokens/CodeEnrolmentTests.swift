import OAuthWire
import StrictCoding
import Testing

@testable import NativeSSOClient

@Suite struct CodeEnrolmentTests {
    private let attempt = LoginAttempt(
        provider: LoginAttemptTests.provider, clientID: "app-one", redirectURI: "com.example.one:/callback",
        scope: "openid", verifier: CodeVerifier(), state: "s", nonce: "n")

    private func endpoint(_ transport: ScriptedTransport) -> TokenEndpoint {
        TokenEndpoint(address: "https://sso.example.com/token", clientID: "app-one", transport: transport)
    }

    private func answer(iss: String = "https://sso.example.com", nonce: String = "n", secret: Bool = true) -> String {
        let claims = Base64URL.encode(
            "{\"iss\":\"\(iss)\",\"sub\":\"u\",\"aud\":\"app-one\",\"nonce\":\"\(nonce)\",\"exp\":2000}".utf8)
        return "{\"access_token\":\"idp\",\"token_type\":\"Bearer\",\"id_token\":\"e30.\(claims).c2ln\""
            + (secret ? ",\"device_secret\":\"S\"}" : "}")
    }

    @Test func theCurrentProfile() async throws {
        let transport = ScriptedTransport([.answer(200, answer())])
        let (login, tokens) = try await endpoint(transport).enrol(
            Credential("c"), of: attempt, issuer: "https://sso.example.com", at: 1000)
        guard case .secret(let secret) = login.device else {
            Issue.record("no device secret")
            return
        }
        #expect(secret.secret == "S" && tokens.accessToken.secret == "idp")
        let form = try await transport.form()
        #expect(form["grant_type"] == "authorization_code" && form["code"] == "c")
        #expect(form["code_verifier"] == attempt.verifier.text && form["redirect_uri"] == attempt.redirectURI)
        #expect(form["audience"] == LoginAttemptTests.provider.issuer && form["scope"] == "openid device_sso")
    }

    @Test func theProvidersIDToken() async throws {
        let body = answer().replacing("\"token_type\"", with: "\"idp_id_token\":\"T\",\"token_type\"")
        let (_, tokens) = try await endpoint(ScriptedTransport([.answer(200, body)])).enrol(
            Credential("c"), of: attempt, issuer: "https://sso.example.com", at: 1000)
        #expect(tokens.providerIDToken?.secret == "T" && tokens.idToken?.secret != "T")
    }

    @Test func theProfileOf2018() async throws {
        let device = DeviceIdentifier()
        let transport = ScriptedTransport([.answer(200, answer(secret: false))])
        let (login, _) = try await endpoint(transport).enrol(
            Credential("c"), of: attempt, issuer: "https://sso.example.com", device: device, at: 1000)
        guard case .identifier(let shared) = login.device else {
            Issue.record("no device identifier")
            return
        }
        #expect(shared.text == device.text)
        let form = try await transport.form()
        #expect(form["device_id"] == device.text && form["scope"] == nil)
    }

    /// An id_token of another login, or of the IdP itself, which no sibling could use; and half an answer.
    @Test func whatIsNotTaken() async throws {
        for answer in [
            answer(nonce: "m"), answer(iss: LoginAttemptTests.provider.issuer), answer(secret: false),
        ] {
            await #expect(throws: ClientError.self) {
                _ = try await endpoint(ScriptedTransport([.answer(200, answer)])).enrol(
                    Credential("c"), of: attempt, issuer: "https://sso.example.com", at: 1000)
            }
        }
    }
}
