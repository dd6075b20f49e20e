import OAuthWire
import StrictCoding
import Testing

@testable import NativeSSOClient

/// A login brought to the broker, by its code or by its id_token.
@Suite struct EnrolmentTests {
    private static let broker = "https://sso.example.com"

    private let attempt = LoginAttempt(
        provider: LoginAttemptTests.provider, clientID: "app-one", redirectURI: "com.example.one:/callback",
        scope: "openid", verifier: CodeVerifier(), state: "s", nonce: "n")

    private func endpoint(_ transport: ScriptedTransport) -> TokenEndpoint {
        TokenEndpoint(address: Self.broker + "/token", clientID: "app-one", transport: transport)
    }

    private func answer(
        byCode: Bool, iss: String = broker, nonce: String = "n", hasSecret: Bool
    ) -> String {
        let claims = Base64URL.encode(
            "{\"iss\":\"\(iss)\",\"sub\":\"u\",\"aud\":\"app-one\",\"nonce\":\"\(nonce)\",\"exp\":2000}".utf8)
        let idToken = "e30.\(claims).c2ln"
        let (access, type) = byCode ? ("idp", "Bearer") : (idToken, "N_A")
        return "{\"access_token\":\"\(access)\",\"token_type\":\"\(type)\",\"expires_in\":60,"
            + "\"id_token\":\"\(idToken)\"" + (hasSecret ? ",\"device_secret\":\"S\"}" : "}")
    }

    private func enrol(
        byCode: Bool, _ answer: String, device: DeviceIdentifier? = nil
    ) async throws -> (login: SharedLogin, form: FormParameters) {
        let transport = ScriptedTransport([.answer(200, answer)])
        let login: SharedLogin
        if byCode {
            login = try await endpoint(transport).enrol(
                Credential("c"), of: attempt, issuer: Self.broker, device: device, at: 1000
            ).login
        } else {
            login = try await endpoint(transport).enrol(
                Credential("i.d.t"), issuer: attempt.provider.issuer, device: device)
        }
        return (login, try await transport.form())
    }

    @Test(arguments: [true, false]) func theCurrentProfile(byCode: Bool) async throws {
        let (login, form) = try await enrol(byCode: byCode, answer(byCode: byCode, hasSecret: true))
        guard case .secret(let secret) = login.device else {
            Issue.record("no device secret")
            return
        }
        #expect(secret.secret == "S" && login.user?.issuer == Self.broker)
        #expect(form["audience"] == attempt.provider.issuer && form["scope"] == "openid device_sso")
        if byCode {
            #expect(form["grant_type"] == "authorization_code" && form["code"] == "c")
            #expect(form["code_verifier"] == attempt.verifier.text && form["redirect_uri"] == attempt.redirectURI)
        } else {
            #expect(form["subject_token"] == "i.d.t" && form["actor_token"] == nil)
            #expect(form["requested_token_type"] == "urn:ietf:params:oauth:token-type:id_token")
        }
    }

    @Test(arguments: [true, false]) func theProfileOf2018(byCode: Bool) async throws {
        let device = DeviceIdentifier()
        let (login, form) = try await enrol(
            byCode: byCode, answer(byCode: byCode, hasSecret: false), device: device)
        guard case .identifier(let shared) = login.device else {
            Issue.record("no device identifier")
            return
        }
        #expect(shared.text == device.text)
        #expect(form[byCode ? "device_id" : "actor_token"] == device.text && form["scope"] == nil)
    }

    @Test func theProvidersIDToken() async throws {
        let body = answer(byCode: true, hasSecret: true)
            .replacing("\"token_type\"", with: "\"idp_id_token\":\"T\",\"token_type\"")
        let (_, tokens) = try await endpoint(ScriptedTransport([.answer(200, body)])).enrol(
            Credential("c"), of: attempt, issuer: Self.broker, at: 1000)
        #expect(tokens.providerIDToken?.secret == "T" && tokens.idToken?.secret != "T")
        #expect(tokens.accessToken.secret == "idp")
    }

    /// An id_token of another login, or of the IdP itself, which no sibling could use; and half an answer.
    @Test func whatIsNotTaken() async throws {
        for (byCode, answer) in [
            (true, answer(byCode: true, nonce: "m", hasSecret: true)),
            (true, answer(byCode: true, iss: LoginAttemptTests.provider.issuer, hasSecret: true)),
            (true, answer(byCode: true, hasSecret: false)), (false, answer(byCode: false, hasSecret: false)),
        ] {
            await #expect(throws: ClientError.self) { _ = try await enrol(byCode: byCode, answer) }
        }
    }
}
