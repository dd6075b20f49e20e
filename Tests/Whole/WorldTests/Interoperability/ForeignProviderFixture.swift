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
        sql = try installation.session()
        for client in ["app-one", "app-two"] {
            try await sql.register(client, in: .init(group: "vendor", issuer: provider.issuer)) {
                $0.maximumAuthenticationSeconds = 3600
            }
        }
        backchannel = try LoopbackPort.free()
        broker = try installation.startBroker(environment: [
            "NATIVE_SSO_BACKCHANNEL_LISTEN": "127.0.0.1:\(backchannel)", "NATIVE_SSO_BACKCHANNEL_REVOKE": "true",
        ])
        try await broker.untilReady()
    }

    /// What the app and the shared keychain hold after a login that was brought to the broker.
    struct Enrolled {
        /// The broker's.
        let idToken: String
        let device: String
        let profile: NativeProfile
    }

    func enrol(_ idToken: String, _ profile: NativeProfile) async throws -> Enrolled {
        let device = Unguessable.make()
        return try await enrol(
            .enrolment(idToken, issuer: provider.issuer, device: device, profile: profile, client: "app-one"),
            profile, device)
    }

    func relay(_ code: String, _ verifier: String, _ profile: NativeProfile) async throws -> Enrolled {
        let device = Unguessable.make()
        return try await enrol(
            .code(
                code, verifier: verifier, redirectURI: Provider.redirectURI(of: "app-one"), device: device,
                profile: profile, client: "app-one"), profile, device)
    }

    private func enrol(_ form: TokenForm, _ profile: NativeProfile, _ device: String) async throws -> Enrolled {
        let answer = try await broker.token(form)
        try #require(answer.status == 200, "\(answer.text)")
        let idToken = try #require(answer.idToken)
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
