import BrokerHarness
import BrokerTesting
import JOSE
import PrivateCluster

/// The algorithms of one installation: what the identity provider signs with, and what the broker does.
struct Algorithms: Hashable, Sendable {
    var provider = SignatureAlgorithm.es256
    var broker = SignatureAlgorithm.es256
}

/// An installation on a cluster whose counters are read.
struct MeasuredInstallation: Sendable {
    let base: Installation
    let cluster: BenchmarkCluster
    let algorithms: Algorithms
    /// The identity provider's.
    let key: TestKey

    var database: String { base.database }

    /// - Parameter template: A database that ``makeTemplate(on:in:)`` made.
    init(
        _ algorithms: Algorithms, template: String, on cluster: BenchmarkCluster, in directory: WorkingDirectory
    ) async throws {
        try await self.init(algorithms, on: cluster, in: directory)
        try await cluster.server.createDatabase(database, template: template)
        try await base.createServiceRole()
        try await base.command("key", "generate", "--use", "access-token", "--algorithm", algorithms.broker.rawValue)
        try await base.command("key", "generate", "--use", "all")
    }

    /// Writes the files.
    private init(
        _ algorithms: Algorithms, on cluster: BenchmarkCluster, in directory: WorkingDirectory,
        database: String = "bench_" + String(UInt32.random(in: 0...UInt32.max), radix: 36)
    ) async throws {
        self.algorithms = algorithms
        self.cluster = cluster
        key = try TestKey.shared(algorithms.provider)
        var configuration = BrokerConfiguration(
            issuer: SampleApps.broker,
            providers: [
                BrokerConfiguration.Provider(
                    SampleApps.issuer, keys: .file([key]), algorithms: [algorithms.provider.rawValue])
            ])
        // These limits count, but are too high to refuse: a benchmark sends more per login than any app does.
        for limit in ["client", "session", "user", "device", "device_failures"] {
            configuration.limits[limit] = "1000000/1s"
        }
        for limit in ["address", "network", "client_failures", "code", "logout"] { configuration.limits[limit] = "off" }
        base = try Installation(
            files: configuration, on: cluster.server, database: database,
            directory: try directory.subdirectory(database))
    }

    /// A database with the schema and the apps, to be copied.
    static func makeTemplate(on cluster: BenchmarkCluster, in directory: WorkingDirectory) async throws -> String {
        let name = "bench_template"
        let installation = try await MeasuredInstallation(Algorithms(), on: cluster, in: directory, database: name)
        let base = installation.base
        try await cluster.server.createDatabase(name)
        try await base.command("migrate", "up")
        let scope = SampleApps.scope.split(separator: " ")
        let apps = SampleApps.targets + [SampleApps.source, SampleApps.proving]
        try await base.register(
            """
            name: bench
            scopes:
            \(scope.map { "  - scope: \($0)\n" }.joined())
            clients:
            \(apps.map { app in
                """
                  - client_id: \(app)
                    audiences: [\(SampleApps.audience)]
                    allowed_scope: [\(scope.joined(separator: ", "))]
                    default_scope: [\(scope.joined(separator: ", "))]
                    dpop: \(app == SampleApps.proving ? "required" : "off")

                """
            }.joined())
            groups:
              - group_id: \(SampleApps.group)
                issuer: \(SampleApps.issuer)
                members:
            \(apps.map { "      - client_id: \($0)\n        role: both\n" }.joined())
            """)
        return name
    }

    /// Registers an app and makes it a member of a group.
    func register(_ app: String, authentication: String = "none", in group: String) async throws {
        try await base.command(
            "client", "add", app, "--authentication", authentication, "--audience", SampleApps.audience,
            "--allowed-scope", SampleApps.scope, "--default-scope", SampleApps.scope)
        try await base.command("group", "member", "add", group, app, "--role", "both")
    }
}
