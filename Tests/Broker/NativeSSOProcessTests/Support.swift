import BrokerHarness
import BrokerTesting
import Foundation
import JOSE
import NativeSSO
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

extension Broker {
    /// Starts a broker and waits until both listeners are bound.
    static func start(_ installation: Installation, environment: [String: String] = [:]) async throws -> Broker {
        let broker = try installation.startBroker(
            "broker-\(Unguessable.make().prefix(8))", environment: environment)
        try #require(
            try await broker.process.errorLine(containing: #""listening""#) != nil, "\(broker.process.errors)")
        return broker
    }

    func post(_ form: TokenForm, header: (name: String, value: String)? = nil) async throws -> HTTPAnswer {
        try await HTTPRequest.token(form.parameters, fields: header.map { [$0] } ?? []).send(to: publicPort)
    }

    /// Repeats `/readyz`, as a load balancer does, until it gives this answer.
    func waitUntilReady(_ isReady: Bool = true) async throws {
        try await wait { (try await $0.get("/readyz").status == 200) == isReady }
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
    let deviceSecret: String

    init(
        _ installation: Installation, sid: String, sub: String = "user-1", client: String = "app1", key: TestKey? = nil
    ) throws {
        deviceSecret = Unguessable.make()
        let device = try #require(DeviceValue(deviceSecret, profile: .deviceSecret))
        var token = IDToken(
            issuer: Installation.identityProvider, client: client, subject: sub, sid: sid, device: deviceSecret,
            key: try key ?? installation.identityProviderKey)
        token.claims["auth_time"] = nil
        token.claims["di_hash"] = nil
        token.claims["ds_hash"] = .string(device.hash(function: .sha256))
        idToken = try token.signed()
    }

    /// The form of an exchange by `client`.
    func exchange(by client: String, scope: String? = nil) -> TokenForm {
        .exchange(
            idToken, issuer: Installation.identityProvider, device: deviceSecret, profile: .deviceSecret,
            client: client, scope: scope)
    }

    static func refresh(_ token: String, by client: String) -> TokenForm { .refresh(token, client: client) }
}
