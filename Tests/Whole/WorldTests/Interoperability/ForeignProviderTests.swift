import BrokerHarness
import BrokerTesting
import JOSE
import StrictCoding
import Testing

/// The broker beside LemonLDAP::NG and Canaille, which know nothing of back-channel logout.
@Suite(.serialized, .timeLimit(.minutes(5))) struct ForeignProviderTests {
    @Test(.needs(.lemonldap)) func lemonLDAP() async throws {
        let provider = try await LemonLDAP()
        let discovery = try await provider.discovery()
        #expect(discovery.string("issuer") == provider.issuer && provider.issuer.hasSuffix("/"))
        #expect(discovery.bool("backchannel_logout_supported") == false)
        #expect(discovery.bool("frontchannel_logout_supported") == true)
        #expect(discovery.strings("token_endpoint_auth_methods_supported")?.contains("none") == false)
        #expect(!discovery.contains("revocation_endpoint"))
        #expect(!discovery.contains("authorization_response_iss_parameter_supported"))
        let key = try #require(try await provider.key())
        #expect(Set(key.names) == ["kty", "e", "n", "use", "kid"])
        try await check(provider, idToken: ["acr", "azp"], isPrecise: false)
    }

    @Test(.needs(.interoperability)) func canaille() async throws {
        let provider = try await Canaille()
        let discovery = try await provider.discovery()
        #expect(discovery.string("issuer") == provider.issuer)
        #expect(!discovery.contains("backchannel_logout_supported"))
        #expect(!discovery.contains("frontchannel_logout_supported"))
        #expect(discovery.strings("token_endpoint_auth_methods_supported")?.contains("none") == true)
        #expect(discovery.bool("authorization_response_iss_parameter_supported") == true)
        let key = try #require(try await provider.key())
        #expect(Set(key.names) == ["kty", "e", "n", "alg", "kid"])
        try await check(provider, idToken: ["amr", "family_name", "updated_at"], isPrecise: true)
    }

    /// - Parameters:
    ///   - claims: In its id_tokens, beside those that both have.
    ///   - isPrecise: Whether `auth_time` has a fraction.
    private func check(_ provider: some ForeignProvider, idToken claims: Set<String>, isPrecise: Bool) async throws {
        let fixture = try await ForeignProviderFixture(provider)
        let browser = UserAgent()
        let idToken = try #require(try await provider.tokens("app-one", in: browser).string("id_token"))
        let header = try CompactJWS(idToken).header
        let keyID = try await provider.key()?.string("kid")
        #expect(header.type == "JWT" && header.algorithm == .rs256 && header.keyID == keyID)
        let login = try UnverifiedToken.claims(of: idToken)
        // No `sid`: the broker cannot tell its logins apart, and each enrolment is a session of its own.
        #expect(
            Set(login.names) == claims.union(["iss", "sub", "aud", "iat", "exp", "auth_time", "nonce", "at_hash"]))
        #expect(login.strings("aud") == ["app-one"] && login.string("aud") == nil)
        #expect((login.number("auth_time")?.int64 == nil) == isPrecise)

        // By exchange and by code, in both profiles.
        var enrolled = [try await fixture.enrol(idToken, .deviceSecret)]
        for profile in [NativeProfile.deviceID, .deviceSecret] {
            try await untilLaterLogin(at: provider)
            let (code, verifier) = try await provider.code("app-one", in: browser)
            enrolled.append(try await fixture.relay(code, verifier, profile))
        }
        try await untilLaterLogin(at: provider)
        let next = try await provider.tokens("app-one", in: browser)
        enrolled.append(try await fixture.enrol(try #require(next.string("id_token")), .deviceID))
        var refreshTokens: [String] = []
        for login in enrolled { refreshTokens.append(try await fixture.use(login)) }

        // The user leaves there, and the broker is not told.
        try await provider.logOut(idToken, client: "app-one", in: browser)
        #expect(try await fixture.exchange(enrolled[0]).status == 200)
        let answer = try await fixture.broker.token(.refresh(refreshTokens[1], client: "app-two"))
        #expect(answer.status == 200, "\(answer.text)")

        // The app's sign-out ends the device's session, and no other.
        let device = enrolled[0].device
        let revoked = try await fixture.revoke([
            "client_id": "app-one", "token": device, "token_type_hint": "device_secret",
        ])
        #expect(revoked.status == 200, "\(revoked.text)")
        try await fixture.isRefused(try await fixture.exchange(enrolled[0]), for: "session_ended")
        #expect(try await fixture.exchange(enrolled[1]).status == 200)

        // The account process ends all of them by `sub`.
        try await fixture.installation.command(
            "session", "end", "--issuer", provider.issuer, "--sub", type(of: provider).user.name, "--reason",
            "account closed", "--execute")
        for login in enrolled.dropFirst() {
            try await fixture.isRefused(try await fixture.exchange(login), for: "session_ended")
        }
        // The user types the password again, and that login is another one.
        try await untilLaterLogin(at: provider)
        let later = try await provider.tokens("app-one", in: browser)
        _ = try await fixture.use(try await fixture.enrol(try #require(later.string("id_token")), .deviceSecret))
        #expect(await fixture.broker.process.terminate() == 0)
    }

    /// Canaille fails if it makes two equal access tokens, which it does for two logins in one second.
    private func untilLaterLogin(at provider: some ForeignProvider) async throws {
        if provider is Canaille { try await untilLaterSecond() }
    }
}
