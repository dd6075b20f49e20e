import BrokerTesting
import JOSE
import PrivateCluster
import StrictCoding
import BrokerHarness

/// A broker on a database of its own that may be stopped, frozen and killed.
final class FaultFixture: Sendable {
    private static let starting = Task { try await FaultFixture() }
    /// Started on first use.
    static var shared: FaultFixture { get async throws { try await starting.value } }

    let cluster: PrivateCluster
    let provider: StubIdentityProvider
    let installation: Installation
    let broker: Broker
    let logins: LoginFactory

    private init() async throws {
        let key = try TestKey(.es256, keyID: "idp")
        provider = try StubIdentityProvider(keys: [key])
        cluster = try await PrivateCluster.start(options: .testing)
        (installation, logins) = try await Self.install(provider.issuer, key, on: cluster)
        broker = try await installation.startBroker().ready()
    }

    /// Two apps that share logins, on a database of their own.
    static func install(
        _ issuer: String, _ key: TestKey, on cluster: PrivateCluster
    ) async throws -> (Installation, LoginFactory) {
        var provider = BrokerConfiguration.Provider(issuer)
        provider.enrolsByExchange = true
        return try await install(provider, key, on: cluster)
    }

    /// The same in the shared cluster. The identity provider's keys are in a file, so that the broker never asks it.
    static func install() async throws -> (Installation, LoginFactory) {
        let key = try TestKey(.es256, keyID: "idp")
        var provider = BrokerConfiguration.Provider("https://idp.example.test", keys: .file([key]))
        provider.enrolsByExchange = true
        return try await install(provider, key, on: try await PrivateCluster.shared)
    }

    static func install(
        _ provider: BrokerConfiguration.Provider, _ key: TestKey, on cluster: PrivateCluster
    ) async throws -> (Installation, LoginFactory) {
        let issuer = provider.issuer
        let installation = try await Installation(
            BrokerConfiguration(issuer: "https://sso.example.test", providers: [provider]), on: cluster)
        let sql = try installation.session()
        for app in ["app-one", "app-two"] {
            try await sql.register(app, in: .init(group: "vendor", issuer: issuer))
        }
        return (installation, LoginFactory(issuer: issuer, key: key, source: "app-one", target: "app-two"))
    }

    /// `generation|revoked` of a family.
    func state(of family: TokenFamily, _ sql: SQLSession) async throws -> String {
        try await sql.row(
            """
            SELECT generation, revoked_at IS NOT NULL FROM native_sso.sso_grant
            WHERE session_id = (SELECT session_id FROM native_sso.session WHERE sid = sha256('\(family.login.sid)'))
            """)
    }
}

extension HTTPAnswer {
    var refreshToken: String? { json?.string("refresh_token") }
    var accessToken: String? { json?.string("access_token") }

    /// What an outage looks like, to the letter of the contract.
    var isOutage: Bool {
        status == 503 && error == "temporarily_unavailable" && Int(self["Retry-After"] ?? "") != nil && keepsContract
    }
}
