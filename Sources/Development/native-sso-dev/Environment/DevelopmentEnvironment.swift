import BrokerHarness
import Foundation
import PrivateCluster

/// Everything that runs: PostgreSQL, two identity providers, the broker, two resource servers.
///
/// All but the first are processes of their own, so that each can be stopped, frozen or killed without the others noticing by
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
        try ports.check()
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

        let issuer = try await startProvider(
            "identity-provider", at: ports.identityProvider, isPlain: false, layout.identityProviderConfiguration,
            key: layout.signingKey)
        let plain = try await startProvider(
            "plain-identity-provider", at: ports.plainProvider, isPlain: true, layout.plainProviderConfiguration,
            key: layout.plainSigningKey)

        progress("preparing the broker's database, keys and clients")
        let installation = try Installation(
            files: configuration(issuer, plain), on: cluster, database: Self.database, directory: layout.broker,
            serviceRole: Self.serviceRole, commandLog: layout.log("administration"))
        try await installation.command("migrate", "up")
        try await installation.command("key", "generate", "--use", "all")
        let secret = try await SampleApp.register(with: installation, identityProvider: issuer, plain: plain)
        try installation.write(secret, to: Layout.webAppSecret)
        try await cluster.allowLogin(role: Self.serviceRole)

        progress("starting the broker at http://127.0.0.1:\(ports.brokerPublic)")
        let broker = try Broker(
            configuration: URL(filePath: layout.brokerConfiguration), log: URL(filePath: layout.log("broker")),
            ports: (UInt16(ports.brokerPublic), UInt16(ports.brokerInternal)))
        self.broker = broker
        processes.append(broker.process)
        try await broker.untilReady()

        let issuers = [
            ("http://127.0.0.1:\(ports.brokerPublic)", "http://127.0.0.1:\(ports.brokerInternal)", ""),
            (issuer, issuer, ""), (plain, plain, Self.plainPrefix),
        ].flatMap { ["--issuer", $0, "--keys", "\($1)/.well-known/jwks.json", "--subject-prefix", $2] }
        for (name, port, api) in [
            ("server-a", ports.serverA, SampleAPI.a), ("server-b", ports.serverB, SampleAPI.b),
        ] {
            progress("starting \(name) at http://127.0.0.1:\(port)")
            try await launch(
                name,
                [
                    "server", "--name", name, "--port", String(port), "--audience", api.audience, "--scope", api.scope,
                    "--path", api.path,
                ] + issuers)
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
        do { try await cluster?.stop() } catch { StandardError.write("\(error)") }
        cluster = nil
        await directory.remove()
        if options.keep { StandardError.write("kept \(layout.directory)") }
    }

    private static let database = "native_sso"
    private static let serviceRole = "native_sso_broker"

    /// Put before each `sub` of the plain provider, so that its users are not taken for the other's.
    static let plainPrefix = "plain|"

    /// Starts an identity provider; returns its issuer.
    private func startProvider(
        _ name: String, at port: Int, isPlain: Bool, _ configuration: String, key: String
    ) async throws -> String {
        let issuer = "http://127.0.0.1:\(port)"
        progress("starting the \(name) at \(issuer)")
        var file = ProviderFile(
            port: UInt16(port), clients: SampleApp.registrations(page: ports.page),
            logoutURI: "http://127.0.0.1:\(ports.brokerInternal)/backchannel-logout")
        file.isPlain = isPlain
        file.resources = SampleAPI.all.map { ($0.audience, $0.scope) }
        file.allowsUndottedSchemes = true
        try Data(file.json).write(to: URL(filePath: configuration))
        try await launch(
            name,
            [
                "idp", "--configuration", configuration, "--signing-key", key, "--users", layout.users, "--algorithm",
                "RS256",
            ])
        return issuer
    }

    /// Starts one of our own programs.
    private func launch(_ name: String, _ arguments: [String]) async throws {
        try Task.checkCancellation()
        let process = try ManagedProcess(tool, arguments, name: name, log: URL(filePath: layout.log(name)))
        processes.append(process)
        try await process.waitForReadiness(Self.readyLine)
    }

    private func configuration(_ issuer: String, _ plain: String) -> BrokerConfiguration {
        let providers = [issuer, plain].map { issuer in
            var provider = BrokerConfiguration.Provider(issuer, profiles: options.profiles.map(\.rawValue))
            provider.enrolsByExchange = true
            // For `id_token_hint` at the IdP's logout.
            provider.codeRelay = "{ idp_id_token: true }"
            if issuer == plain { provider.subjectPrefix = Self.plainPrefix }
            return provider
        }
        var configuration = BrokerConfiguration(
            issuer: "http://127.0.0.1:\(ports.brokerPublic)", providers: providers)
        configuration.accessTokenLifetime = options.accessTokenLifetime ?? 300
        configuration.listen = (UInt16(ports.brokerPublic), UInt16(ports.brokerInternal))
        return configuration
    }
}
