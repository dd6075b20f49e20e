import BrokerTesting
import JOSE
import PrivateCluster
import StrictCoding
import BrokerHarness
import Testing

extension Faults {
    /// Enrolment with real processes: the IdP does not know Native SSO, app one brings its login, app two uses it.
    struct EnrolmentTests {
        @Test(arguments: [NativeProfile.deviceID, .deviceSecret])
        func fromLoginToLogout(profile: NativeProfile) async throws {
            let fixture = try await EnrolmentFixture.shared
            let token = try fixture.freshToken()
            let answer = try await fixture.broker.token(fixture.enrolment(token, profile))
            try #require(answer.status == 200, "\(answer.text)")
            let json = try #require(answer.json)
            #expect(json.string("token_type") == "N_A")
            #expect(json.string("issued_token_type") == "urn:ietf:params:oauth:token-type:id_token")
            #expect(json.string("access_token") == json.string("id_token"))
            #expect((json.string("device_secret") == nil) == (profile == .deviceID))
            let idToken = try #require(json.string("id_token"))
            let device = json.string("device_secret") ?? EnrolmentFixture.device
            let claims = try UnverifiedToken.claims(of: idToken)
            #expect(claims.string("iss") == fixture.installation.configuration.issuer)
            #expect(claims.string("nonce") == "n-0S6_WzA2Mj")

            // At the other replica.
            let exchange = TokenForm.exchange(
                idToken, issuer: fixture.installation.configuration.issuer, device: device, profile: profile,
                client: "app-two")
            let exchanged = try await fixture.replica.token(exchange)
            try #require(exchanged.status == 200, "\(exchanged.text)")
            let refreshToken = try #require(exchanged.refreshToken)
            let refreshed = try await fixture.broker.token(.refresh(refreshToken, client: "app-two"))
            try #require(refreshed.status == 200, "\(refreshed.text)")

            // The broker refuses another device value, and the identity provider as audience of the broker's token.
            var wrong = exchange
            wrong["actor_token"] = Unguessable.make()
            #expect(try await fixture.broker.token(wrong).error == "invalid_grant")
            wrong = exchange
            wrong["audience"] = fixture.provider.issuer
            #expect(try await fixture.broker.token(wrong).error == "invalid_request")

            // The identity provider's logout names its own sid.
            let sid = try #require(claims.string("sid"))
            let sql = try fixture.installation.session()
            let (idpSID, sub) = (
                try #require(token.claims.string("sid")), try #require(token.claims.string("sub"))
            )
            #expect(
                try await sql.row(
                    "SELECT idp_sid = sha256('\(idpSID)'), subject, issuer = idp_issuer FROM native_sso.session WHERE sid = sha256('\(sid)')"
                )
                    == "t|\(sub)|t")
            try await sql.rows(
                """
                SELECT native_sso.end_sessions(array_agg(session_id), 'logout', 'test', NULL)
                FROM native_sso.session WHERE idp_issuer = '\(fixture.provider.issuer)' AND idp_sid = sha256('\(idpSID)')
                """)
            let dead = try #require(refreshed.refreshToken)
            #expect(try await fixture.broker.token(.refresh(dead, client: "app-two")).error == "invalid_grant")
            #expect(try await fixture.replica.token(exchange).error == "invalid_grant")
            // Another fresh id_token of that session does not revive it.
            var late = token
            late.claims["jti"] = .string("another")
            let refused = try await fixture.replica.token(fixture.enrolment(late, profile))
            #expect(refused.status == 400 && refused.error == "invalid_grant" && refused.keepsContract)
        }

        /// The same device asks again for a lost answer at any replica; every other device gets nothing.
        @Test func aTokenIsGoodForOneDevice() async throws {
            let fixture = try await EnrolmentFixture.shared
            let token = try fixture.freshToken()
            let form = try fixture.enrolment(token, .deviceID)
            let first = try await fixture.broker.token(form)
            let again = try await fixture.replica.token(form)
            try #require(first.status == 200 && again.status == 200, "\(first.text) \(again.text)")
            #expect(
                try UnverifiedToken.claims(of: try #require(first.json?.string("id_token"))).string("sid")
                    == UnverifiedToken.claims(of: try #require(again.json?.string("id_token"))).string("sid"))
            var thief = form
            thief["actor_token"] = Unguessable.make()
            #expect(try await fixture.broker.token(thief).error == "invalid_grant")
            #expect(
                try await fixture.replica.token(try fixture.enrolment(token, .deviceSecret)).error == "invalid_grant")
        }

        /// The user is sent to the IdP of the login, although the broker issued the id_token.
        @Test func aStrongerLogin() async throws {
            let fixture = try await EnrolmentFixture.shared
            let answer = try await fixture.broker.token(fixture.enrolment(fixture.freshToken(), .deviceSecret))
            let json = try #require(answer.json, "\(answer.text)")
            let refused = try await fixture.replica.token(
                .exchange(
                    try #require(json.string("id_token")), issuer: fixture.installation.configuration.issuer,
                    device: try #require(json.string("device_secret")), profile: .deviceSecret, client: "app-strict"))
            #expect(refused.status == 400 && refused.error == "interaction_required")
            #expect(
                refused.json?.string("authorization_uri")
                    == "\(fixture.provider.issuer)/authorize?response_type=code&client_id=app-strict&scope=openid"
                    + "&acr_values=urn%3Aexample%3Aloa2")
            let sql = try fixture.installation.session()
            #expect(try await sql.auditedReason(of: refused.requestID) == "assurance_insufficient")
        }

        @Test func whatIsRefused() async throws {
            let fixture = try await EnrolmentFixture.shared
            func error(_ change: (inout IDToken) -> Void) async throws -> String? {
                var token = try fixture.freshToken()
                change(&token)
                let answer = try await fixture.broker.token(fixture.enrolment(token, .deviceSecret))
                #expect(answer.status == 400 && answer.keepsContract, "\(answer.text)")
                return answer.error
            }
            #expect(try await error { $0.claims["aud"] = .string("app-two") } == "invalid_grant")
            let now = try #require(try fixture.freshToken().claims.number("iat")?.wholeSeconds)
            #expect(
                try await error {
                    $0.claims["auth_time"] = nil
                    $0.claims["iat"] = .number(JSONNumber(now - 301))
                } == "invalid_grant")
            #expect(
                try await error {
                    $0.claims["iat"] = .number(JSONNumber(now - 20))
                    $0.claims["exp"] = .number(JSONNumber(now - 10))
                } == "invalid_grant")
            #expect(try await error { $0.claims["ds_hash"] = .string("kjUFOPGZj71P1tPEBR__zg") } == "invalid_grant")
            #expect(try await error { $0.header["typ"] = .string("at+jwt") } == "invalid_request")
            var form = try fixture.enrolment(try fixture.freshToken(), .deviceSecret)
            form["scope"] = "openid device_sso admin"
            #expect(try await fixture.broker.token(form).error == "invalid_scope")
            form["scope"] = nil
            #expect(try await fixture.broker.token(form).error == "invalid_scope")
            form["audience"] = fixture.installation.configuration.issuer
            #expect(try await fixture.broker.token(form).error == "invalid_request")
        }

        /// Known keys keep working. An unknown key waits for the hanging IdP and ends in an outage: never a refusal,
        /// never half a session.
        @Test func theIdentityProviderHangs() async throws {
            let fixture = try await EnrolmentFixture.shared
            let sql = try fixture.installation.session()
            let count = "SELECT count(*) FROM native_sso.session"
            var stranger = try fixture.freshToken()
            stranger.header["kid"] = .string("unheard-of")
            let form = try fixture.enrolment(stranger, .deviceSecret)
            fixture.provider.jwks(.hangs)
            defer { fixture.provider.jwks(.answers) }
            let before = try await sql.row(count)
            let outage = try await eventually("an outage", within: .seconds(90)) {
                let answer = try await fixture.broker.token(form)
                return answer.isOutage ? answer : nil
            }
            #expect(outage.isOutage)
            #expect(try await sql.row(count) == before)
            let known = try await fixture.broker.token(fixture.enrolment(fixture.freshToken(), .deviceSecret))
            #expect(known.status == 200, "\(known.text)")
        }
    }
}

/// Two brokers on one database whose identity provider gives id_tokens without any device hash.
final class EnrolmentFixture: Sendable {
    private static let starting = Task { try await EnrolmentFixture() }
    /// Started on first use.
    static var shared: EnrolmentFixture { get async throws { try await starting.value } }
    static let device = Unguessable.make()

    let provider: StubIdentityProvider
    /// A second identity provider, with enrolment too.
    let otherProvider: StubIdentityProvider
    let installation: Installation
    let broker: Broker
    let replica: Broker
    private let logins: LoginFactory

    private init() async throws {
        let key = try TestKey(.es256, keyID: "idp")
        provider = try StubIdentityProvider(keys: [key])
        // The same `kid` as the first one's key.
        otherProvider = try StubIdentityProvider(keys: [try TestKey(.es256, keyID: "idp")])
        var configuration = BrokerConfiguration(
            issuer: "https://sso.example.test",
            providers: [provider, otherProvider].map { provider in
                var configured = BrokerConfiguration.Provider(provider.issuer, admitsOnFirstSight: false)
                configured.enrolsByExchange = true
                return configured
            })
        configuration.limits["device_failures"] = "1000000/1s"
        installation = try await Installation(configuration, on: try await PrivateCluster.shared)
        let sql = try installation.session()
        let issuer = provider.issuer
        for (app, role, dpop) in [
            ("app-one", "both", "off"), ("app-two", "both", "optional"), ("app-bound", "source", "required"),
            ("app-target", "target", "off"), ("app-outside", nil, "off"),
        ] as [(String, String?, String)] {
            let membership = role.map { ClientRow.Membership(group: "vendor", issuer: issuer, role: $0) }
            try await sql.register(app, in: membership) { $0.dpop = dpop }
        }
        try await sql.register("app-strict", in: .init(group: "vendor", issuer: issuer, role: "target")) {
            $0.allowedScope = ["openid"]
            $0.acceptedACR = ["urn:example:loa2"]
        }
        logins = LoginFactory(issuer: provider.issuer, key: key, source: "app-one", target: "app-two")
        broker = try await installation.startBroker().ready()
        replica = try await installation.startBroker("replica").ready()
    }

    /// An id_token as an ordinary identity provider issues it.
    func freshToken(of client: String = "app-one") throws -> IDToken {
        var token = logins.login().token
        token.claims["aud"] = .string(client)
        token.claims["di_hash"] = nil
        token.claims["ds_hash"] = nil
        token.claims["nonce"] = .string("n-0S6_WzA2Mj")
        return token
    }

    func enrolment(
        _ token: IDToken, _ profile: NativeProfile, client: String = "app-one", device: String = EnrolmentFixture.device
    ) throws -> TokenForm {
        var form = TokenForm([
            "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange", "client_id": client,
            "audience": provider.issuer, "subject_token": try token.signed(),
            "subject_token_type": "urn:ietf:params:oauth:token-type:id_token",
            "requested_token_type": "urn:ietf:params:oauth:token-type:id_token",
        ])
        if profile == .deviceID {
            form["actor_token"] = device
            form["actor_token_type"] = profile.rawValue
        } else {
            form["scope"] = "openid device_sso"
        }
        return form
    }

    /// The `sid` that an enrolment gave.
    func sid(_ answer: HTTPAnswer) throws -> String {
        let idToken = try #require(answer.json?.string("id_token"), "\(answer.text)")
        return try #require(try UnverifiedToken.claims(of: idToken).string("sid"))
    }

    /// Sessions of the user of `token`.
    func sessions(of token: IDToken, _ sql: SQLSession) async throws -> Int {
        let subject = try #require(token.claims.string("sub"))
        return try #require(
            Int(try await sql.row("SELECT count(*) FROM native_sso.session WHERE subject = '\(subject)'")))
    }
}
