import OAuthWire
import StrictCoding
import Testing

@testable import NativeSSOClient

@Suite struct HandoffTests {
    private let phone: Phone
    private var site: Site { phone.site }

    init() throws { phone = try Phone() }

    private func handOff(_ app: AppLogin) async throws(ClientError) -> Credential {
        try await app.handOff(
            to: "web-shop", origin: "https://web.example.com", challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM")
    }

    @Test func anAppGetsACodeForAWebApp() async throws {
        try await phone.app().logIn(in: site.browser)
        await site.answer(Site.broker + "/token", Site.text(#"{"access_token":"nsh1.code","token_type":"N_A"}"#))
        #expect(try await handOff(phone.app("app-two")).secret == "nsh1.code")
        let form = try #require(try await site.forms(Site.broker + "/token").last)
        #expect(form["requested_token_type"] == "urn:x-native-sso:params:token-type:web-handoff")
        #expect(form["handoff_client"] == "web-shop" && form["handoff_origin"] == "https://web.example.com")
        #expect(form["handoff_challenge"] == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM")
        #expect(form["client_id"] == "app-two" && form["audience"] == Site.provider && form["actor_token"] == "S1")
    }

    @Test func anEnrolledLoginIsOneOfTheBroker() async throws {
        let app = phone.app { $0.sharing = .enrolment }
        try await app.logIn(in: site.browser)
        await site.answer(Site.broker + "/token", Site.text(#"{"access_token":"nsh1.code","token_type":"N_A"}"#))
        _ = try await handOff(app)
        #expect(try await site.forms(Site.broker + "/token").last?["audience"] == Site.broker)
    }

    /// Tokens must not get into a URL.
    @Test func tokensAreNoCode() async throws {
        try await phone.app().logIn(in: site.browser)
        let error = try await phone.refusal { () async throws(ClientError) in _ = try await handOff(phone.app()) }
        guard case .unexpectedAnswer(status: 200) = error else { throw error }
    }

    @Test func withoutALoginThereIsNothingToHandOff() async throws {
        let error = try await phone.refusal { () async throws(ClientError) in _ = try await handOff(phone.app()) }
        guard case .notLoggedIn = error else { throw error }
    }
}
