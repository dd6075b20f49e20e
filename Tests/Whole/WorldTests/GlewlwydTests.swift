import BrokerTesting
import JOSE
import PrivateCluster
import StrictCoding
import BrokerHarness
import Testing

/// The broker beside an identity provider that was written elsewhere, with nothing between them.
@Suite(.serialized, .timeLimit(.minutes(5)), .needs(.glewlwyd))
struct GlewlwydTests {
    /// What the README says of its tokens, so that it is noticed when they change.
    @Test func whatItSends() async throws {
        let fixture = try await GlewlwydFixture.shared
        let issuer = fixture.provider.issuer
        let discovery = try await HTTPRequest("GET", "/api/oidc/.well-known/openid-configuration").send(
            to: fixture.provider.port)
        let metadata = try #require(discovery.json)
        #expect(metadata.string("issuer") == issuer)
        #expect(metadata.string("authorization_endpoint") == "\(issuer)/auth")
        #expect(metadata.string("token_endpoint") == "\(issuer)/token")
        #expect(metadata.string("jwks_uri") == "\(issuer)/jwks")
        #expect(metadata.string("end_session_endpoint") == "\(issuer)/end_session")
        #expect(metadata.strings("code_challenge_methods_supported") == ["S256"])
        #expect(metadata.strings("token_endpoint_auth_methods_supported")?.contains("none") == false)
        #expect(!metadata.contains("backchannel_logout_supported"))

        let keys = try #require(try await HTTPRequest("GET", "/api/oidc/jwks").send(to: fixture.provider.port).json)
        let key = try #require(keys.array("keys")?.first?.object)
        #expect(Set(key.names) == ["kty", "n", "e", "kid", "alg"] && key.string("alg") == "RS256")

        let login = try await fixture.logIn(demands: [(name: "max_age", value: "3600")])
        let header = try CompactJWS(login.idToken).header
        #expect(header.type == "JWT" && header.keyID == key.string("kid"))
        #expect(
            Set(login.claims.names) == [
                "iss", "sub", "aud", "azp", "exp", "iat", "auth_time", "nonce", "amr", "at_hash", "c_hash", "sid",
            ])
        #expect(login.claims.string("aud") == "app-one")
        // Whatever was asked for, and however the user logged in.
        #expect(login.claims.number("auth_time")?.wholeSeconds == 0)
        #expect(login.claims.strings("amr") == ["session"])
        // Who has the one has the other.
        #expect(login.claims.string("sid") == login.browser.cookie("GLEWLWYD2_OIDC_SESSION"))
    }

    /// Enrolment by exchange, the other app's exchange, refreshes, and the end by its own logout token.
    @Test(arguments: [NativeProfile.deviceID, .deviceSecret])
    func fromLoginToLogout(profile: NativeProfile) async throws {
        let fixture = try await GlewlwydFixture.shared
        let login = try await fixture.logIn()
        let enrolled = try await fixture.broker.token(fixture.enrolment(login, profile))
        try #require(enrolled.status == 200, "\(enrolled.text)")
        try await fixture.ends(try #require(enrolled.json), of: login, profile)
        // The next login is another session, in the same browser, too.
        let again = try await fixture.logIn(in: login.browser)
        #expect(again.claims.string("sid") != login.claims.string("sid"))
        let next = try await fixture.broker.token(fixture.enrolment(again, profile))
        #expect(next.status == 200, "\(next.text)")
    }

    /// The same with a code that the app brings to the broker, which redeems it.
    @Test(arguments: [NativeProfile.deviceID, .deviceSecret])
    func fromCodeToLogout(profile: NativeProfile) async throws {
        let fixture = try await GlewlwydFixture.shared
        let (login, form) = try await fixture.code(profile)
        let answer = try await fixture.broker.token(form)
        try #require(answer.status == 200, "\(answer.text)")
        let json = try #require(answer.json)
        // Its tokens are the app's, and good: what the broker adds is an id_token of its own.
        let accessToken = try UnverifiedToken.claims(of: try #require(json.string("access_token")))
        #expect(accessToken.string("iss") == fixture.provider.issuer && accessToken.string("client_id") == "app-one")
        #expect(json.string("token_type") == "Bearer" && json.string("scope") == "openid")
        let again = TokenForm.refresh(try #require(json.string("refresh_token")), client: "app-one")
        let refresh = HTTPRequest.token(again.parameters, to: "/api/oidc/token")
        #expect(try await refresh.send(to: fixture.provider.port).status == 200)
        try await fixture.ends(json, of: login, profile)
        // With another verifier it refuses the code, in a word of its own.
        var (_, other) = try await fixture.code(profile)
        other["code_verifier"] = Unguessable.make()
        let refused = try await fixture.broker.token(other)
        #expect(refused.status == 400 && refused.error == "invalid_grant", "\(refused.text)")
        #expect(try await fixture.sql.auditedReason(of: refused.requestID) == "idp_other_error")
    }

    /// A client that does not require `sid` gets logout tokens with `sub` alone: every session of the user ends, of
    /// whichever app.
    @Test func aLogoutByUser() async throws {
        let fixture = try await GlewlwydFixture.shared
        let first = try await fixture.logIn("app-by-user", user: "bob")
        let second = try await fixture.logIn(user: "bob")
        var ends: [(form: TokenForm, sid: String)] = []
        for login in [first, second] {
            let enrolled = try await fixture.broker.token(fixture.enrolment(login, .deviceSecret))
            try #require(enrolled.status == 200, "\(enrolled.text)")
            let (idToken, device) = (
                try #require(enrolled.json?.string("id_token")), try #require(enrolled.json?.string("device_secret"))
            )
            let form = TokenForm.exchange(
                idToken, issuer: fixture.installation.configuration.issuer, device: device, profile: .deviceSecret,
                client: "app-two")
            #expect(try await fixture.broker.token(form).status == 200)
            ends.append((form, try #require(login.claims.string("sid"))))
        }
        try await first.browser.logOut(first.idToken)
        for end in ends {
            try await fixture.untilEnded(end.sid)
            let late = try await fixture.broker.token(end.form)
            #expect(late.error == "invalid_grant")
            #expect(try await fixture.sql.auditedReason(of: late.requestID) == "session_ended")
        }
        // A later login is another session, although `auth_time` is before every logout. Both sides count in seconds: a
        // login in the second of the logout is not later.
        try await untilLaterSecond()
        let login = try await fixture.logIn(user: "bob")
        let next = try await fixture.broker.token(fixture.enrolment(login, .deviceSecret))
        #expect(next.status == 200, "\(next.text)")
    }

    /// Its logout tokens have the type of an id_token and no `exp`: a broker that was not told to bear that takes none.
    @Test func aLogoutTokenIsRefusedUnlessItsFormIsAllowed() async throws {
        let fixture = try await GlewlwydFixture.shared
        for (client, reason) in [("app-strict", "logout_token_wrong_typ"), ("app-typed", "logout_token_exp")] {
            let login = try await fixture.logIn(client)
            let before = try await fixture.refusals(reason)
            try await login.browser.logOut(login.idToken)
            _ = try await eventually("\(reason) is audited") {
                try await fixture.refusals(reason) == before + 1 ? true : nil
            }
        }
    }
}
