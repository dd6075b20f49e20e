import BrokerTesting
import JOSE

/// The algorithms of one installation: what the identity provider signs with, and what the broker does.
struct Algorithms: Hashable, Sendable {
    var provider = SignatureAlgorithm.es256
    var broker = SignatureAlgorithm.es256
}

/// A broker's database, keys and configuration, made with the broker's own commands as an operator would.
final class Installation: Sendable {
    let cluster: BenchmarkCluster
    let workplace: Workplace
    let database: String
    let algorithms: Algorithms
    /// The identity provider's.
    let key: TestKey
    /// Configuration, keys and logs.
    let directory: String
    let commands: BrokerCommands

    /// - Parameter template: A database that ``makeTemplate(on:in:)`` made.
    init(_ algorithms: Algorithms, template: String, on cluster: BenchmarkCluster, in workplace: Workplace) async throws
    {
        self.cluster = cluster
        self.workplace = workplace
        self.algorithms = algorithms
        database = "bench_" + String(UInt32.random(in: 0...UInt32.max), radix: 36)
        directory = try workplace.subdirectory(database)
        key = try TestKey.shared(algorithms.provider)
        try await cluster.createDatabase(database, template: template)
        commands = try BrokerCommands(
            database: database, algorithm: algorithms.provider, key: key, cluster: cluster, directory: directory)
        try commands.run("key", "generate", "--use", "access-token", "--algorithm", algorithms.broker.rawValue)
        try commands.run("key", "generate", "--use", "all")
    }

    /// A database with the schema and the apps, to be copied.
    static func makeTemplate(on cluster: BenchmarkCluster, in workplace: Workplace) async throws -> String {
        let name = "bench_template"
        try await cluster.createDatabase(name)
        let commands = try BrokerCommands(
            database: name, algorithm: .es256, key: try TestKey.shared(.es256), cluster: cluster,
            directory: try workplace.subdirectory(name))
        try commands.run("migrate", "up")
        try await cluster.allowLogin(role: BrokerCommands.serviceRole)
        for scope in SampleApps.scope.split(separator: " ") { try commands.run("scope", "add", String(scope)) }
        try commands.run("group", "add", SampleApps.group, "--issuer", SampleApps.issuer)
        for app in [SampleApps.source, SampleApps.targets[0], SampleApps.proving] {
            try commands.run(
                "client", "add", app, "--audience", SampleApps.audience, "--allowed-scope", SampleApps.scope,
                "--default-scope", SampleApps.scope, "--dpop", app == SampleApps.proving ? "required" : "off")
            try commands.run("group", "member", "add", SampleApps.group, app, "--role", "both")
        }
        // The other apps are copies of the first: two commands for each would take longer than a measurement.
        let names = SampleApps.targets.dropFirst().map { "'\($0)'" }.joined(separator: ", ")
        for table in ["client", "sharing_group_member"] {
            try await cluster.sql(
                """
                INSERT INTO native_sso.\(table)
                SELECT (jsonb_populate_record(original, jsonb_build_object('client_id', name))).*
                FROM native_sso.\(table) original, unnest(ARRAY[\(names)]) AS copies (name)
                WHERE original.client_id = '\(SampleApps.targets[0])';
                """, database: name)
        }
        return name
    }

    var brokerConfiguration: String { "\(directory)/broker.yaml" }
    var log: String { "\(directory)/broker.log" }
}
