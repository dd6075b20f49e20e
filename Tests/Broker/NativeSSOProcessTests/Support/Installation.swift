import BrokerTesting
import Foundation
import JOSE
import PrivateCluster
import StrictCoding
import Testing

/// A broker as an operator would set it up: configuration, key directory, database; all of it in one directory.
final class Installation: Sendable {
    static let issuer = "https://sso.example.com"
    static let identityProvider = "https://idp.example.com"

    let directory: String
    let database: String
    let cluster: PrivateCluster
    /// Signs the id_tokens of the identity provider.
    let identityProviderKey: TestKey

    /// Runs `body` with an installation whose database is empty.
    static func lend<Value: Sendable>(
        _ body: @Sendable (Installation) async throws -> Value
    ) async throws -> Value {
        let cluster = try await PrivateCluster.shared
        return try await cluster.withDatabase { name in try await body(try Installation(cluster, database: name)) }
    }

    /// Runs `body` with an installation that has schema and keys.
    static func lendReady<Value: Sendable>(
        _ body: @Sendable (Installation) async throws -> Value
    ) async throws -> Value {
        try await lend { installation in
            try await installation.succeed("migrate", "up")
            try await installation.succeed("key", "generate")
            try await installation.makeServiceRole()
            return try await body(installation)
        }
    }

    /// - Parameter database: Need not exist yet.
    init(_ cluster: PrivateCluster, database: String) throws {
        self.cluster = cluster
        self.database = database
        directory = FileManager.default.temporaryDirectory.appendingPathComponent("nsso-\(UUID().uuidString)").path
        identityProviderKey = try TestKey.shared(.es256)
        try FileManager.default.createDirectory(
            atPath: "\(directory)/keys", withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        try write(cluster.password, to: "password")
        try write(String(decoding: try TestKey.document([identityProviderKey]), as: UTF8.self), to: "jwks.json")
        try write(configuration, to: "native-sso.yaml")
    }

    deinit {
        try? FileManager.default.removeItem(atPath: directory)
    }

    func file(_ name: String) -> String { "\(directory)/\(name)" }

    func write(_ text: String, to name: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: file(name)))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file(name))
    }

    private var configuration: String {
        """
        issuer: \(Self.issuer)
        development: true
        public: { listen: "127.0.0.1:0" }
        internal: { listen: "127.0.0.1:0" }
        database:
          url: "\(cluster.connectionURI(database: database))"
          password_file: \(file("password"))
        keys: { directory: \(file("keys")) }
        identity_providers:
          - issuer: \(Self.identityProvider)
            jwks_file: \(file("jwks.json"))
            profiles: [device-secret]
            algorithms: [ES256]
            admit_on_first_sight: true
        """
    }

    // MARK: Commands

    func run(_ arguments: [String], environment: [String: String] = [:]) async throws -> Program.Outcome {
        try await Program.run(["--config", file("native-sso.yaml")] + arguments, environment: environment)
    }

    /// Runs a command that must succeed; its standard output.
    @discardableResult
    func succeed(_ arguments: String..., sourceLocation: SourceLocation = #_sourceLocation) async throws -> String {
        let outcome = try await run(arguments)
        #expect(outcome.status == 0, "\(arguments): \(outcome.errors)", sourceLocation: sourceLocation)
        return outcome.output
    }

    /// Runs a command with `--json` that must succeed; the object that it writes.
    func object(_ arguments: String..., sourceLocation: SourceLocation = #_sourceLocation) async throws -> JSONObject {
        let outcome = try await run(["--json"] + arguments)
        #expect(outcome.status == 0, "\(arguments): \(outcome.errors)", sourceLocation: sourceLocation)
        return try #require(try JSONReader.parse(Array(outcome.output.utf8)).object, sourceLocation: sourceLocation)
    }

    // MARK: Database

    private static let serviceRole = "process_tests_service"

    /// The login role of the service: a member of `native_sso_broker` and nothing more.
    private func makeServiceRole() async throws {
        try await cluster.psql(
            """
            DO $$ BEGIN
                PERFORM pg_advisory_xact_lock(1);
                IF to_regrole('\(Self.serviceRole)') IS NULL THEN
                    CREATE ROLE \(Self.serviceRole) LOGIN IN ROLE native_sso_broker PASSWORD '\(cluster.password)';
                END IF;
            END $$
            """)
    }

    /// What `serve` connects by.
    var serviceEnvironment: [String: String] {
        ["NATIVE_SSO_DATABASE_URL": cluster.connectionURI(database: database, user: Self.serviceRole)]
    }

    func audit() async throws -> [String] {
        try await cluster.psql(
            "SELECT kind, actor, reason, details FROM native_sso.audit_event ORDER BY occurred_at",
            database: database
        ).split(separator: "\n").map(String.init)
    }
}

extension Installation {
    /// Two apps that may share logins.
    func registerApps() async throws {
        for app in ["app1", "app2"] {
            try await succeed(
                "client", "add", app, "--audience", "https://api.example.com", "--allowed-scope", "openid orders",
                "--default-scope", "openid")
        }
        try await succeed("group", "add", "vendor", "--issuer", Self.identityProvider)
        try await succeed("group", "member", "add", "vendor", "app1", "--role", "source")
        try await succeed("group", "member", "add", "vendor", "app2", "--role", "both")
    }
}
