import BrokerHarness
import BrokerTesting
import JOSE
import PrivateCluster
import StrictCoding
import Testing

/// A provider that was written elsewhere, and a broker that takes its logins by exchange and by code.
struct ForeignProviderFixture<Provider: ForeignProvider> {
    let provider: Provider
    let installation: Installation
    let broker: Broker
    let backchannel: UInt16
    private let sql: SQLSession

    init(_ provider: Provider) async throws {
        self.provider = provider
        var configured = BrokerConfiguration.Provider(
            provider.issuer, algorithms: ["RS256"], admitsOnFirstSight: false)
        configured.enrolsByExchange = true
        configured.codeRelay = "{ timeout: 20s }"
        installation = try await Installation(
            BrokerConfiguration(issuer: "https://sso.example.test", providers: [configured]),
            on: try await PrivateCluster.shared)
        try await installation.command("group", "add", "vendor", "--issuer", provider.issuer)
        for client in ["app-one", "app-two"] {
            try await installation.command(
                "client", "add", client, "--audience", "https://api.example.test", "--allowed-scope", "openid profile",
                "--default-scope", "openid", "--max-auth-age", "1h")
            try await installation.command("group", "member", "add", "vendor", client, "--role", "both")
        }
        backchannel = try LoopbackPort.free()
        broker = try installation.startBroker(environment: [
            "NATIVE_SSO_BACKCHANNEL_LISTEN": "127.0.0.1:\(backchannel)", "NATIVE_SSO_BACKCHANNEL_REVOKE": "true",
        ])
        try await broker.untilReady()
        sql = try installation.session()
    }

    /// What the app and the shared keychain hold after a login that was brought to the broker.
    struct Enrolled {
        /// The broker's.
        let idToken: String
        let device: String
        let profile: NativeProfile
    }

    func enrol(_ idToken: String, _ profile: NativeProfile) async throws -> Enrolled {
        var form = TokenForm([
            "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange", "client_id": "app-one",
            "audience": provider.issuer, "subject_token": idToken,
            "subject_token_type": "urn:ietf:params:oauth:token-type:id_token",
            "requested_token_type": "urn:ietf:params:oauth:token-type:id_token",
        ])
        let enrolled = try await enrol(
            &form, profile, parameter: "actor_token", ("actor_token_type", profile.rawValue))
        return try #require(enrolled)
    }

    /// `nil` if the provider failed.
    func relay(_ code: String, _ verifier: String, _ profile: NativeProfile) async throws -> Enrolled? {
        var form = TokenForm([
            "grant_type": "authorization_code", "client_id": "app-one", "code": code,
            "redirect_uri": Provider.redirectURI(of: "app-one"), "code_verifier": verifier,
        ])
        return try await enrol(&form, profile, parameter: "device_id", nil)
    }

    private func enrol(
        _ form: inout TokenForm, _ profile: NativeProfile, parameter: String, _ type: (name: String, value: String)?
    ) async throws -> Enrolled? {
        let device = Unguessable.make()
        if profile == .deviceID {
            form[parameter] = device
            if let type { form[type.name] = type.value }
        } else {
            form["scope"] = "openid profile device_sso"
        }
        let answer = try await broker.token(form)
        if answer.status == 503 { return nil }
        try #require(answer.status == 200, "\(answer.text)")
        let idToken = try #require(answer.json?.string("id_token"))
        #expect(try UnverifiedToken.claims(of: idToken).string("iss") == installation.configuration.issuer)
        return Enrolled(idToken: idToken, device: answer.json?.string("device_secret") ?? device, profile: profile)
    }

    func exchange(_ enrolled: Enrolled) async throws -> HTTPAnswer {
        try await broker.token(
            .exchange(
                enrolled.idToken, issuer: installation.configuration.issuer, device: enrolled.device,
                profile: enrolled.profile, client: "app-two"))
    }

    /// The other app exchanges and refreshes. Its newest refresh token.
    func use(_ enrolled: Enrolled) async throws -> String {
        let exchanged = try await exchange(enrolled)
        try #require(exchanged.status == 200, "\(exchanged.text)")
        let access = try UnverifiedToken.claims(of: try #require(exchanged.accessToken))
        #expect(access.string("sub") == Provider.user.name && access.string("idp") == provider.issuer)
        let refreshed = try await broker.token(.refresh(try #require(exchanged.refreshToken), client: "app-two"))
        try #require(refreshed.status == 200, "\(refreshed.text)")
        return try #require(refreshed.refreshToken)
    }

    func revoke(_ form: KeyValuePairs<String, String>) async throws -> HTTPAnswer {
        try await HTTPRequest.token(TokenForm(form).parameters, to: "/revoke").send(to: backchannel)
    }

    func isRefused(_ answer: HTTPAnswer, for reason: String) async throws {
        #expect(answer.error == "invalid_grant", "\(answer.text)")
        #expect(try await sql.auditedReason(of: answer.requestID) == reason)
    }
}
