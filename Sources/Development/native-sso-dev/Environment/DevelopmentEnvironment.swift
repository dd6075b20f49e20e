import BrokerHarness
import Foundation
import PrivateCluster

/// Everything that runs: PostgreSQL, the identity provider, the broker, two resource servers.
///
/// The last four are processes of their own, so that each can be stopped, frozen or killed without the others noticing by
/// other means than a real one would have.
actor DevelopmentEnvironment {
    /// What the identity provider and the servers write to standard output, once, when they accept connections.
    static let readyLine = "ready"

    let options: EnvironmentOptions
    let ports: Ports
    let layout: Layout
    private let directory: WorkingDirectory
    private let tool: String
    private let brokerProgram: String
    private let progress: @Sendable (String) -> Void
    private var cluster: PrivateCluster?
    private var broker: Broker?
    private var processes: [ManagedProcess] = []

    /// Makes the directory and starts nothing yet.
    init(_ options: EnvironmentOptions, progress: @escaping @Sendable (String) -> Void) async throws {
        self.options = options
        self.progress = progress
        tool = try BuildProducts.path(of: "native-sso-dev")
        brokerProgram = try BuildProducts.path(of: "native-sso")
        ports = try Ports.choose(base: options.portBase)
        directory =
            try options.directory.map { try WorkingDirectory($0, isKept: options.keep) }
            ?? WorkingDirectory(named: "native-sso-dev", isKept: options.keep)
        layout = Layout(directory: directory.path)
        for name in ["identity-provider", "broker", "broker/keys", "device", "logs"] {
            try directory.subdirectory(name)
        }
    }

    /// Starts everything, and returns when all of it answers.
    func start() async throws -> EnvironmentDescription {
        progress("starting PostgreSQL in \(layout.cluster)")
        var settings = ClusterOptions()
        settings.fsync = options.keep
        settings.isEphemeral = !options.keep
        let cluster = try await PrivateCluster.start(directory: layout.cluster, options: settings)
        self.cluster = cluster
        try await cluster.createDatabase(Self.database)

        let issuer = "http://127.0.0.1:\(ports.identityProvider)"
        progress("starting the identity provider at \(issuer)")
        let provider = ProviderFile(
            port: UInt16(ports.identityProvider), clients: SampleApp.all.map { ($0.clientID, $0.redirectURI) },
            logoutURI: "http://127.0.0.1:\(ports.brokerInternal)/backchannel-logout")
        try Data(provider.json).write(to: URL(filePath: layout.identityProviderConfiguration))
        try await launch(
            "identity-provider",
            [
                "idp", "--configuration", layout.identityProviderConfiguration, "--signing-key", layout.signingKey,
                "--users", layout.users,
            ])

        progress("preparing the broker's database, keys and clients")
        let installation = try Installation(
            files: configuration(of: issuer), on: cluster, database: Self.database, directory: layout.broker,
            serviceRole: Self.serviceRole, commandLog: layout.log("administration"))
        try await installation.command("migrate", "up")
        try await installation.command("key", "generate", "--use", "all")
        try await SampleApp.register(with: installation, identityProvider: issuer)
        try await cluster.allowLogin(role: Self.serviceRole)

        progress("starting the broker at http://127.0.0.1:\(ports.brokerPublic)")
        let broker = try Broker(
            configuration: URL(filePath: layout.brokerConfiguration), log: URL(filePath: layout.log("broker")),
            ports: (UInt16(ports.brokerPublic), UInt16(ports.brokerInternal)))
        self.broker = broker
        processes.append(broker.process)
        try await broker.untilReady()

        for (name, port) in [("server-a", ports.serverA), ("server-b", ports.serverB)] {
            progress("starting \(name) at http://127.0.0.1:\(port)")
            try await launch(
                name,
                [
                    "server", "--name", name, "--port", String(port), "--issuer",
                    "http://127.0.0.1:\(ports.brokerPublic)", "--keys",
                    "http://127.0.0.1:\(ports.brokerInternal)/.well-known/jwks.json", "--audience", SampleApp.audience,
                ])
        }
        return EnvironmentDescription(
            layout: layout, ports: ports, brokerProgram: brokerProgram, clusterPasswordFile: cluster.passwordFile,
            databaseURL: cluster.connectionURI(database: Self.database, user: Self.serviceRole),
            administrationURL: cluster.connectionURI(database: Self.database), profiles: options.profiles,
            processes: Dictionary(
                processes.map { ($0 === broker.process ? "broker" : $0.name, $0.pid) }, uniquingKeysWith: { $1 }))
    }

    /// Ends everything and waits for the end. Whatever was not started is passed over.
    func stop() async {
        progress("stopping")
        await withTaskGroup { group in
            for process in processes { group.addTask { _ = await process.terminate(within: .seconds(5)) } }
        }
        processes = []
        do { try await cluster?.stop() } catch { progress("\(error)") }
        cluster = nil
        await directory.remove()
        if options.keep { progress("kept \(layout.directory)") }
    }

    private static let database = "native_sso"
    private static let serviceRole = "native_sso_broker"

    /// Starts one of our own programs.
    private func launch(_ name: String, _ arguments: [String]) async throws {
        try Task.checkCancellation()
        let process = try ManagedProcess(tool, arguments, name: name, log: URL(filePath: layout.log(name)))
        processes.append(process)
        try await process.waitForReadiness(Self.readyLine)
    }

    private func configuration(of issuer: String) -> BrokerConfiguration {
        var provider = BrokerConfiguration.Provider(issuer, profiles: options.profiles.map(\.rawValue))
        provider.enrolsByExchange = true
        provider.codeRelay = "{}"
        var configuration = BrokerConfiguration(
            issuer: "http://127.0.0.1:\(ports.brokerPublic)", providers: [provider])
        configuration.accessTokenLifetime = options.accessTokenLifetime ?? 300
        configuration.limits = [:]
        configuration.listen = (UInt16(ports.brokerPublic), UInt16(ports.brokerInternal))
        return configuration
    }
}
