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
        (installation, logins) = try await Installation.ofTwoApps(provider.issuer, key, on: cluster)
        broker = try await installation.startBroker().ready()
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

extension Installation {
    /// Runs `body` with another broker, which takes revocations and introspections at a port.
    func withBackchannel(_ name: String, _ body: (Broker, UInt16) async throws -> Void) async throws {
        let port = try LoopbackPort.free()
        let environment = [
            "NATIVE_SSO_BACKCHANNEL_LISTEN": "127.0.0.1:\(port)", "NATIVE_SSO_BACKCHANNEL_REVOKE": "true",
            "NATIVE_SSO_BACKCHANNEL_INTROSPECT": "true",
        ]
        try await withBroker(name, environment: environment) { try await body($0, port) }
    }
}

/// The request of an app that ends its own grant, or signs its device out.
func revoke(
    _ token: String, _ more: [(String, String)] = [], client: String = "app-two", at port: UInt16
) async throws -> HTTPAnswer {
    try await HTTPRequest.token([("client_id", client), ("token", token)] + more, to: "/revoke").send(to: port)
}
