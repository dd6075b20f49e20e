import ChildProcesses
import Foundation
import PrivateCluster
import StrictCoding

/// Everything that runs: PostgreSQL, the identity provider, the broker, two resource servers.
///
/// The last four are processes of their own, so that each can be stopped, frozen or killed without the others noticing by
/// other means than a real one would have.
actor DevelopmentEnvironment {
    let options: EnvironmentOptions
    let ports: Ports
    let layout: Layout
    let broker: BrokerCommands
    private let directory: WorkingDirectory
    private let programs: ProgramFiles
    private let progress: @Sendable (String) -> Void
    private var cluster: PrivateCluster?
    private var processes: [SupervisedProcess] = []

    /// Makes the directory and starts nothing yet.
    init(_ options: EnvironmentOptions, progress: @escaping @Sendable (String) -> Void) async throws {
        self.options = options
        self.progress = progress
        programs = try ProgramFiles.locate()
        ports = try Ports.choose(base: options.portBase)
        directory = try WorkingDirectory(options.directory, isKept: options.keep)
        layout = Layout(directory: directory.path)
        broker = BrokerCommands(program: programs.broker, layout: layout)
        try layout.create(in: directory)
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
        try writePrivately(
            IdentityProviderConfiguration(
                port: ports.identityProvider,
                backChannelLogoutURI: "http://127.0.0.1:\(ports.brokerInternal)/backchannel-logout"
            ).json, to: layout.identityProviderConfiguration)
        try await launch(
            "identity-provider",
            [
                programs.developmentTool, "idp", "--configuration", layout.identityProviderConfiguration,
                "--signing-key", layout.signingKey, "--users", layout.users,
            ])

        progress("preparing the broker's database, keys and clients")
        try writePrivately(Array(cluster.password.utf8), to: layout.databasePassword)
        let administrationURL = cluster.connectionURI(database: Self.database)
        let databaseURL = cluster.connectionURI(database: Self.database, user: Self.serviceRole)
        try writeConfiguration(layout.administrationConfiguration, databaseURL: administrationURL, issuer)
        try writeConfiguration(layout.brokerConfiguration, databaseURL: databaseURL, issuer)
        try await broker.prepare()
        try await broker.register(identityProvider: issuer)
        try await cluster.allowLogin(role: Self.serviceRole)

        progress("starting the broker at http://127.0.0.1:\(ports.brokerPublic)")
        let serving = try await SupervisedProcess(
            "broker", broker.serve, environment: ProgramFiles.environment, log: layout.log("broker"))
        processes.append(serving)
        try await BrokerReadiness(address: "http://127.0.0.1:\(ports.brokerInternal)").wait(for: serving)

        for (name, port) in [("server-a", ports.serverA), ("server-b", ports.serverB)] {
            progress("starting \(name) at http://127.0.0.1:\(port)")
            try await launch(
                name,
                [
                    programs.developmentTool, "server", "--name", name, "--port", String(port), "--issuer",
                    "http://127.0.0.1:\(ports.brokerPublic)", "--keys",
                    "http://127.0.0.1:\(ports.brokerInternal)/.well-known/jwks.json", "--audience", SampleApp.audience,
                ])
        }
        return EnvironmentDescription(
            layout: layout, ports: ports, brokerProgram: programs.broker, clusterPasswordFile: cluster.passwordFile,
            databaseURL: databaseURL, administrationURL: administrationURL, profiles: options.profiles,
            processes: Dictionary(uniqueKeysWithValues: processes.map { ($0.name, $0.pid) }))
    }

    /// Ends everything and waits for the end. Whatever was not started is passed over; what does not end is named.
    func stop() async {
        progress("stopping")
        await withTaskGroup { group in
            for process in processes {
                group.addTask { [progress] in await Self.end(progress) { try await process.stop() } }
            }
        }
        processes = []
        await Self.end(progress) { [cluster] in try await cluster?.stop() }
        cluster = nil
        await directory.remove()
        if options.keep { progress("kept \(layout.directory)") }
    }

    private static func end(
        _ progress: @Sendable (String) -> Void, _ body: @Sendable () async throws -> Void
    ) async {
        do { try await body() } catch { progress("\(error)") }
    }

    private static let database = "native_sso"
    private static let serviceRole = "native_sso_broker"

    /// Starts one of our own programs; it says that it is ready by a line.
    private func launch(_ name: String, _ arguments: [String]) async throws {
        try Task.checkCancellation()
        let process = try await SupervisedProcess(
            name, arguments, environment: ProgramFiles.environment, log: layout.log(name))
        processes.append(process)
        try await process.waitForReadiness(Readiness.line)
    }

    private func writeConfiguration(_ path: String, databaseURL: String, _ identityProvider: String) throws {
        let configuration = BrokerConfiguration(
            ports: ports, layout: layout, issuer: "http://127.0.0.1:\(ports.brokerPublic)", databaseURL: databaseURL,
            identityProvider: identityProvider, profiles: options.profiles,
            accessTokenLifetime: options.accessTokenLifetime ?? 300)
        try writePrivately(Array(configuration.yaml.utf8), to: path)
    }

    private func writePrivately(_ bytes: [UInt8], to path: String) throws {
        let file = try FileHandle(appendingTo: path)  // 0600 from the first moment
        try file.write(contentsOf: Data(bytes))
        try file.close()
    }
}

/// The development identity provider's configuration file.
struct IdentityProviderConfiguration {
    let port: Int
    /// Where the broker hears of logouts.
    let backChannelLogoutURI: String

    var json: [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.member("port", Int64(port))
            json.member("mode", "stamping")
            json.member(
                "clients",
                array: { json in
                    for app in SampleApp.all {
                        json.object { json in
                            json.member("client_id", app.clientID)
                            json.member("redirect_uris", [app.redirectURI])
                            json.member("backchannel_logout_uri", backChannelLogoutURI)
                        }
                    }
                })
        }
        return json.bytes
    }
}

/// The broker's configuration file, as text.
struct BrokerConfiguration {
    let ports: Ports
    let layout: Layout
    let issuer: String
    let databaseURL: String
    let identityProvider: String
    let profiles: [ProfileOption]
    let accessTokenLifetime: Int

    var yaml: String {
        """
        # Written by native-sso-dev. For development only.
        development: true
        issuer: \(issuer)
        public: { listen: "127.0.0.1:\(ports.brokerPublic)" }
        internal: { listen: "127.0.0.1:\(ports.brokerInternal)" }
        database:
          url: "\(databaseURL)"
          password_file: "\(layout.databasePassword)"
        keys: { directory: "\(layout.brokerKeys)" }
        identity_providers:
          - issuer: \(identityProvider)
            profiles: [\(profiles.map(\.rawValue).joined(separator: ", "))]
            algorithms: [ES256, RS256]
            admit_on_first_sight: true
            enrolment: exchange
            code_relay: {}
        tokens: { access: \(accessTokenLifetime)s }

        """
    }
}
