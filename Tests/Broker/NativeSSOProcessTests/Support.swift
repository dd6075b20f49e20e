import BrokerHarness
import BrokerTesting
import Foundation
import JOSE
import PrivateCluster
import StrictCoding
import Testing

extension Installation {
    static let issuer = "https://sso.example.com"
    static let identityProvider = "https://idp.example.com"
    static let loginRole = "process_tests_service"

    /// Runs `body` with an installation whose database is empty.
    static func withFiles<Value: Sendable>(
        _ body: @Sendable (Installation) async throws -> Value
    ) async throws -> Value {
        let cluster = try await PrivateCluster.shared
        return try await cluster.withDatabase { try await body(try Installation(cluster, database: $0)) }
    }

    /// Runs `body` with an installation that has schema and keys.
    static func withSchema<Value: Sendable>(
        _ body: @Sendable (Installation) async throws -> Value
    ) async throws -> Value {
        let (template, keys) = try await prepared.value
        let cluster = try await PrivateCluster.shared
        return try await cluster.withDatabase(template: template) { database in
            let installation = try Installation(cluster, database: database)
            for (name, octets) in keys { try installation.write(octets, to: "keys/\(name)") }
            return try await body(installation)
        }
    }

    /// A database with schema and keys, to be copied, and the files of the keys.
    private static let prepared = Task { () async throws -> (template: String, keys: [String: Data]) in
        let installation = try Installation(try await PrivateCluster.shared, database: "process_tests_template")
        try await installation.prepare()
        let directory = installation.directory.appending(path: "keys")
        let names = try FileManager.default.contentsOfDirectory(atPath: directory.path)
        let keys = try names.map { ($0, try Data(contentsOf: directory.appending(path: $0))) }
        return (installation.database, Dictionary(uniqueKeysWithValues: keys))
    }

    /// - Parameter database: Need not exist yet.
    convenience init(_ cluster: PrivateCluster, database: String) throws {
        var configuration = BrokerConfiguration(
            issuer: Self.issuer,
            providers: [
                BrokerConfiguration.Provider(
                    Self.identityProvider, keys: .file([try TestKey.shared(.es256)]), profiles: ["device-secret"],
                    algorithms: ["ES256"])
            ])
        configuration.limits = [:]
        try self.init(files: configuration, on: cluster, database: database, serviceRole: Self.loginRole)
    }

    /// Signs the id_tokens of the identity provider.
    var identityProviderKey: TestKey { get throws { try TestKey.shared(.es256) } }

    /// Runs a command with `--json` that must succeed; the object that it writes.
    func object(_ arguments: [String], sourceLocation: SourceLocation = #_sourceLocation) async throws -> JSONObject {
        let output = try await command(["--json"] + arguments)
        let json = try JSONReader.parse(Array(output.utf8), limits: JSONLimits(members: 10_000, elements: 10_000))
        return try #require(json.object, sourceLocation: sourceLocation)
    }

    func object(_ arguments: String..., sourceLocation: SourceLocation = #_sourceLocation) async throws -> JSONObject {
        try await object(arguments, sourceLocation: sourceLocation)
    }

    /// Runs a command that must end with this status and these words on standard error, and show nothing else.
    func expectFailure(
        _ arguments: [String], _ status: Int32, _ words: String, environment: [String: String] = [:],
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let outcome = try await run(arguments, environment: environment)
        #expect(
            outcome.status == status && outcome.output.isEmpty && outcome.errors.contains(words),
            "\(arguments): \(outcome.status) \(outcome.output)\(outcome.errors)", sourceLocation: sourceLocation)
    }

    /// The variables with which a command connects as the service.
    var serviceEnvironment: [String: String] {
        ["NATIVE_SSO_DATABASE_URL": cluster.connectionURI(database: database, user: Self.loginRole)]
    }

    /// The variables with which a broker may run as the owner, before there is a role for the service.
    var ownerEnvironment: [String: String] {
        [
            "NATIVE_SSO_DATABASE_URL": cluster.connectionURI(database: database),
            "NATIVE_SSO_DATABASE_ALLOW_OWNER": "true",
        ]
    }

    func audit() async throws -> [String] {
        try await cluster.psql(
            "SELECT kind, actor, reason, details FROM native_sso.audit_event ORDER BY occurred_at",
            database: database
        ).split(separator: "\n").map(String.init)
    }

    /// Two apps that may share logins, and more that may do both.
    func registerApps(_ more: String...) async throws {
        for app in ["app1", "app2"] + more {
            try await command(
                "client", "add", app, "--audience", "https://api.example.com", "--allowed-scope", "openid orders",
                "--default-scope", "openid")
        }
        try await command("group", "add", "vendor", "--issuer", Self.identityProvider)
        try await command("group", "member", "add", "vendor", "app1", "--role", "source")
        for app in ["app2"] + more { try await command("group", "member", "add", "vendor", app, "--role", "both") }
    }
}

extension Broker {
    /// Starts a broker and waits until both listeners are bound.
    static func start(_ installation: Installation, environment: [String: String] = [:]) async throws -> Broker {
        let broker = try installation.startBroker(
            "broker-\(Unguessable.make().prefix(8))", environment: environment)
        try #require(
            try await broker.process.errorLine(containing: #""listening""#) != nil, "\(broker.process.errors)")
        return broker
    }

    /// Repeats the check until it succeeds.
    func wait(until isSo: (Broker) async throws -> Bool) async throws {
        _ = try await eventually("what the test waits for", every: .milliseconds(50)) {
            try await isSo(self) ? true : nil
        }
    }
}

/// The result of app 1's login at the identity provider: an id_token and its device secret.
struct Login: Sendable {
    let idToken: String
    let deviceSecret = Unguessable.make()

    init(_ installation: Installation, sid: String, key: TestKey? = nil) throws {
        idToken = try IDToken(
            issuer: Installation.identityProvider, client: "app1", subject: "user-1", sid: sid, device: deviceSecret,
            key: try key ?? installation.identityProviderKey
        ).signed()
    }

    /// The form of an exchange by `client`.
    func exchange(by client: String, scope: String? = nil) -> TokenForm {
        .exchange(
            idToken, issuer: Installation.identityProvider, device: deviceSecret, profile: .deviceSecret,
            client: client, scope: scope)
    }

    static func refresh(_ token: String, by client: String) -> TokenForm { .refresh(token, client: client) }
}
