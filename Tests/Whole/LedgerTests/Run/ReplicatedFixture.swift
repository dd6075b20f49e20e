import BrokerTesting
import JOSE
import PrivateCluster
import BrokerHarness

/// A replicated database, and apps that share logins in it; brokers are started as needed.
struct ReplicatedFixture: Sendable {
    static let source = "app-one"
    static let targets = ["app-two", "app-three"]

    let pair: ReplicatedPair
    let installation: Installation
    private let provider: StubIdentityProvider
    private let key: TestKey

    /// - Parameter grace: For a lost answer, in seconds.
    init(grace: Int = 60) async throws {
        key = try TestKey(.es256, keyID: "idp")
        provider = try StubIdentityProvider(keys: [key])
        pair = try await ReplicatedPair.start()
        let issuer = provider.issuer
        var configuration = BrokerConfiguration(
            issuer: "https://sso.example.test", providers: [BrokerConfiguration.Provider(issuer)])
        configuration.unboundRefreshGrace = grace
        installation = try await Installation(configuration, on: pair)
        let sql = try installation.session()
        for app in [Self.source] + Self.targets {
            let row = ClientRow(app, membership: .init(group: "vendor", issuer: issuer)) {
                $0.allowedScope = ["openid", "profile"]
                $0.defaultScope = ["openid"]
            }
            for statement in row.sql { try await sql.rows(statement) }
        }
    }

    /// Logins of the source app, as one of the other apps uses them.
    func logins(for app: String = Self.targets[0]) -> LoginFactory {
        LoginFactory(issuer: provider.issuer, key: key, source: Self.source, target: app)
    }

    /// One that is ready.
    func startBroker(_ name: String = "broker") async throws -> Broker {
        let broker = try installation.startBroker(name)
        try await broker.untilReady()
        return broker
    }

    /// What the database holds, wherever it is now.
    func finalState(of entries: [LedgerEntry]) async throws -> FinalState {
        try await installation.finalState(of: entries, on: await pair.primary)
    }

    /// What the audit knows of the request behind a violation.
    func audit(of violation: Violation) async throws -> String? {
        guard case .honestAppRefused(_, _, _, _, let request) = violation else { return nil }
        let sql = try installation.session(on: await pair.primary)
        return try await sql.rows(
            "SELECT kind, reason, occurred_at FROM native_sso.audit_event WHERE request_id::text = '\(request)'"
        ).joined(separator: "; ")
    }
}
