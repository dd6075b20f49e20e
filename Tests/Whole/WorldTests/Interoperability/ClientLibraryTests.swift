import BrokerHarness
import NativeSSOClient
import StrictCoding
import Testing

/// Client libraries that others wrote, used as they come from PyPI.
@Suite(.serialized, .timeLimit(.minutes(5)), .needs(.interoperability, .nginx))
struct ClientLibraryTests {
    @Test(
        "A client library discovers, exchanges, refreshes, signs assertions, introspects and revokes",
        arguments: ["authlib_client", "requests_oauthlib_client", "idpyoidc_client", "appauth_requests"])
    func isAClient(_ script: String) async throws { try await ClientLibraryFixture.shared.run(script) }

    @Test("Three JWT libraries verify the broker's tokens, and refuse them with another signature or audience")
    func tokensAreVerified() async throws { try await ClientLibraryFixture.shared.run("verify_tokens") }

    @Test("An app in Swift signs out alone, and then for all apps of the device")
    func swiftSignsOut() async throws {
        let (one, two, ofOne) = try await ClientLibraryFixture.shared.apps()
        for app in [one, two] { _ = try await app.accessToken() }
        try await two.signOut(.thisApp)
        let alone = await #expect(throws: ClientError.self) { try await two.accessToken() }
        guard case .notLoggedIn = alone else { throw alone ?? ClientError.notLoggedIn }
        // The login lives on.
        _ = try await one.accessToken()
        try await two.exchange()

        let item = try #require(await ofOne.item(AppTokens.item))
        let token = try #require(try JSONReader.parse(item).object?.string("refresh_token"))
        try await two.signOut(.device)
        let late = await #expect(throws: ClientError.self) { try await one.accessToken() }
        guard case .notLoggedIn = late else { throw late ?? ClientError.notLoggedIn }
        #expect(try await ClientLibraryFixture.shared.refresh(token, by: "app-two").error == "invalid_grant")
    }

    @Test(
        "A program in another language discovers, exchanges, refreshes, verifies and revokes",
        .needs(.typescript, .go), arguments: ForeignLanguage.allCases)
    func otherLanguages(_ language: ForeignLanguage) async throws {
        try await ClientLibraryFixture.shared.run(language)
    }

    @Test(
        "Apache's mod_auth_openidc protects an API, by the key set and by introspection",
        .needs(.apache), arguments: ApacheAPI.Kind.allCases)
    func apache(_ kind: ApacheAPI.Kind) async throws {
        let (api, accessToken, idToken) = try await ClientLibraryFixture.shared.apache(kind)
        #expect(try await api.get(accessToken) == 200, "\(api.log)")
        #expect(try await api.get(nil) == 401)
        #expect(try await api.get(accessToken.dropLast(8) + "AAAAAAAA") == 401)
        #expect([401, 403].contains(try await api.get(idToken)))
        #expect([401, 403].contains(try await api.get("a.b.c")))
    }
}
