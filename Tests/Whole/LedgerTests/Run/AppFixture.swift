import BrokerHarness
import BrokerTesting
import JOSE
import PrivateCluster

/// Apps that share logins, and what their brokers are made from.
struct AppFixture: Sendable {
    static let source = "app-one"
    static let targets = ["app-two", "app-three"]

    let installation: Installation
    private let provider: StubIdentityProvider
    private let key: TestKey
    /// The server that takes the writes, wherever that is now.
    private let primary: @Sendable () async -> PrivateCluster

    /// - Parameters:
    ///   - install: Makes the database.
    init(
        primary: @escaping @Sendable () async -> PrivateCluster,
        install: (BrokerConfiguration) async throws -> Installation
    ) async throws {
        key = try TestKey(.es256, keyID: "idp")
        provider = try StubIdentityProvider(keys: [key])
        self.primary = primary
        let issuer = provider.issuer
        let configuration = BrokerConfiguration(
            issuer: "https://sso.example.test", providers: [BrokerConfiguration.Provider(issuer)])
        installation = try await install(configuration)
        let sql = try installation.session()
        for app in [Self.source] + Self.targets {
            try await sql.register(app, in: .init(group: "vendor", issuer: issuer))
        }
    }

    /// On one server.
    init(on cluster: PrivateCluster) async throws {
        try await self.init(primary: { cluster }) { try await Installation($0, on: cluster) }
    }

    /// Logins of the source app, as one of the other apps uses them.
    func logins(for app: String = Self.targets[0]) -> LoginFactory {
        LoginFactory(issuer: provider.issuer, key: key, source: Self.source, target: app)
    }

    /// One that is ready.
    func startBroker(_ name: String = "broker") async throws -> Broker {
        try await installation.startBroker(name).ready()
    }

    /// What the database holds of the sessions in the ledger, wherever it is now.
    func finalState(of entries: [LedgerEntry]) async throws -> FinalState {
        let sql = try installation.session(on: await primary())
        // The database has only digests of their names.
        let names = Set(entries.map(\.session)).map { "'\($0)'" }.joined(separator: ",")
        let session =
            "(SELECT s.*, n FROM native_sso.session s, unnest(ARRAY[\(names)]::text[]) n WHERE s.sid = sha256(n::bytea))"
        let grants = try await sql.rows(
            """
            SELECT s.n, g.client_id, g.grant_id, g.generation, g.revoked_at IS NOT NULL
            FROM native_sso.sso_grant g JOIN \(session) s USING (session_id)
            """
        ).map { row in
            let columns = row.split(separator: "|").map(String.init)
            return FinalState.Grant(
                session: columns[0], app: columns[1], id: columns[2], generation: Int(columns[3]) ?? 0,
                isRevoked: columns[4] == "t")
        }
        let ended = try await sql.rows("SELECT s.n FROM \(session) s WHERE ended_at IS NOT NULL")
        return FinalState(grants: grants, endedSessions: Set(ended))
    }

    /// What the audit knows of the request behind a violation.
    func audit(of violation: Violation) async throws -> String? {
        guard case .honestAppRefused(_, _, _, _, let request) = violation else { return nil }
        let sql = try installation.session(on: await primary())
        return try await sql.rows(
            "SELECT kind, reason, occurred_at FROM native_sso.audit_event WHERE request_id::text = '\(request)'"
        ).joined(separator: "; ")
    }
}
