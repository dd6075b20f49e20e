import NativeSSOClient
import OAuthWire
import Testing

@Suite struct EnrolmentTests {
    private func endpoint(_ transport: ScriptedTransport) -> TokenEndpoint {
        TokenEndpoint(address: "https://sso.example.com/token", clientID: "app-one", transport: transport)
    }

    private static let granted =
        #"{"access_token":"a.b.c","id_token":"a.b.c","token_type":"N_A","expires_in":60,"device_secret":"S"}"#

    @Test func theCurrentProfile() async throws {
        let transport = ScriptedTransport([.answer(200, Self.granted)])
        let login = try await endpoint(transport).enrol(Credential("i.d.t"), issuer: "https://idp.example.com")
        #expect(login.idToken.secret == "a.b.c")
        guard case .secret(let secret) = login.device else {
            Issue.record("no device secret")
            return
        }
        #expect(secret.secret == "S")
        let form = try await transport.form()
        #expect(form["subject_token"] == "i.d.t" && form["audience"] == "https://idp.example.com")
        #expect(form["requested_token_type"] == "urn:ietf:params:oauth:token-type:id_token")
        #expect(form["scope"] == "openid device_sso" && form["actor_token"] == nil)
    }

    @Test func theProfileOf2018() async throws {
        let device = DeviceIdentifier()
        let transport = ScriptedTransport([
            .answer(200, #"{"access_token":"a.b.c","id_token":"a.b.c","token_type":"N_A","expires_in":60}"#)
        ])
        let login = try await endpoint(transport).enrol(
            Credential("i.d.t"), issuer: "https://idp.example.com", device: device)
        guard case .identifier(let shared) = login.device else {
            Issue.record("no device identifier")
            return
        }
        #expect(shared.text == device.text)
        let form = try await transport.form()
        #expect(form["actor_token"] == device.text && form["scope"] == nil)
    }

    /// An incomplete answer is an error: the app could not use the login.
    @Test func withoutItsSecret() async throws {
        let transport = ScriptedTransport([
            .answer(200, #"{"access_token":"a.b.c","id_token":"a.b.c","token_type":"N_A","expires_in":60}"#)
        ])
        await #expect(throws: ClientError.self) {
            _ = try await endpoint(transport).enrol(Credential("i.d.t"), issuer: "https://idp.example.com")
        }
    }
}
