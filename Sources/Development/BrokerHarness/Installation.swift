package import BrokerTesting
package import Foundation
import JOSE
package import PrivateCluster
import StrictCoding
import Synchronization

/// A broker's database, keys and configuration, made with the broker's own commands as an operator would.
package final class Installation: Sendable {
    package let cluster: PrivateCluster
    package let database: String
    /// Configuration, keys and logs.
    package let directory: URL
    package let configuration: BrokerConfiguration
    /// The role that the brokers connect as.
    package let serviceRole: String
    /// Removes the directory with the installation.
    private let ownsDirectory: Bool
    private let ownCommandLog: URL?
    /// Where a program finds the database, for a user.
    private let address: @Sendable (_ user: String) -> String

    /// The names of the two configurations, with `.yaml` behind: the commands connect as the owner, the brokers as
    /// ``serviceRole``.
    package static let (administration, service) = ("administration", "native-sso")

    /// A new database, migrated, with keys in use and no client.
    package convenience init(_ configuration: BrokerConfiguration, on cluster: PrivateCluster) async throws {
        try self.init(files: configuration, on: cluster)
        try await prepare()
    }

    /// The same on a primary and a standby. The programs know both addresses.
    /// - Parameter previous: The program that migrates first, as before an upgrade.
    package convenience init(
        _ configuration: BrokerConfiguration, on pair: ReplicatedPair, migratedBy previous: String? = nil
    ) async throws {
        try self.init(files: configuration, on: await pair.primary) { pair.connectionURI(database: $0, user: $1) }
        try await prepare(after: previous)
    }

    /// Writes the files, and makes nothing in the database.
    /// - Parameters:
    ///   - database: A new name by default.
    ///   - directory: A temporary one by default, which is removed with the installation.
    ///   - serviceRole: By default a login for this database alone: roles belong to the whole cluster.
    ///   - commandLog: Gets what commands write to standard error; by default a file for each in the directory.
    ///   - address: Where programs find a database, for a user.
    package init(
        files configuration: BrokerConfiguration, on cluster: PrivateCluster, database: String? = nil,
        directory: String? = nil, serviceRole: String? = nil, commandLog: String? = nil,
        address: (@Sendable (_ database: String, _ user: String) -> String)? = nil
    ) throws {
        self.configuration = configuration
        self.cluster = cluster
        let database = database ?? "t" + String(UInt64.random(in: 0...UInt64.max), radix: 36)
        self.database = database
        self.serviceRole = serviceRole ?? "service_\(database)"
        self.address = { address?(database, $0) ?? cluster.connectionURI(database: database, user: $0) }
        ownsDirectory = directory == nil
        ownCommandLog = commandLog.map { URL(filePath: $0) }
        self.directory =
            directory.map { URL(filePath: $0) }
            ?? FileManager.default.temporaryDirectory.appending(
                path: "native-sso-test-\(Unguessable.make().prefix(12))")
        for name in ["keys", "state"] { _ = try make(name) }
        try write(cluster.password, to: "database-password")
        for case .file(let keys) in configuration.providers.map(\.keys) {
            try write(String(decoding: try TestKey.document(keys), as: UTF8.self), to: "key-set.json")
        }
        try write(configuration, Self.administration, user: PrivateCluster.superuser)
        try write(configuration, Self.service, user: self.serviceRole)
    }

    deinit { if ownsDirectory { try? FileManager.default.removeItem(at: directory) } }

    /// Makes the database, its schema, the role of the brokers and the keys.
    package func prepare(after previous: String? = nil) async throws {
        if previous == nil, await cluster.isShared {
            try await cluster.createDatabase(database, template: try await migratedTemplate())
        } else {
            try await cluster.createDatabase(database)
            if let previous { try await command(["migrate", "up"], by: previous) }
            try await command("migrate", "up")
        }
        try await createServiceRole()
        try await command("key", "generate", "--use", "all")
    }

    /// The first installation on the shared cluster migrates a database that all of them copy.
    private func migratedTemplate() async throws -> String {
        let making = Self.template.withLock { making in
            if let making { return making }
            let new = Task {
                let name = "installation_template"
                try await cluster.createDatabase(name)
                let outcome = try await run(
                    ["migrate", "up"],
                    environment: ["NATIVE_SSO_DATABASE_URL": cluster.connectionURI(database: name)])
                guard outcome.status == 0 else { throw ManagedProcess.Failure(description: outcome.errors) }
                return name
            }
            making = new
            return new
        }
        return try await making.value
    }

    private static let template = Mutex<Task<String, any Error>?>(nil)

    /// Makes the role that the brokers connect as, unless another installation has made it.
    package func createServiceRole() async throws {
        try await cluster.makeLogin(role: serviceRole, "IN ROLE native_sso_broker")
    }

    /// The path of a file of the installation.
    package func file(_ name: String) -> String { directory.appending(path: name).path }

    /// Makes a directory that only this user may enter.
    private func make(_ name: String) throws -> URL {
        let made = directory.appending(path: name)
        try FileManager.default.createDirectory(
            at: made, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        return made
    }

    /// Writes a file that only this user reads.
    package func write(_ text: String, to name: String) throws { try write(Data(text.utf8), to: name) }

    package func write(_ octets: Data, to name: String) throws {
        try octets.write(to: directory.appending(path: name))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file(name))
    }

    /// Writes the certificate and its key: `tls.pem` and `tls.key`.
    package func write(_ certificate: TestCertificate) throws -> (certificate: String, key: String) {
        try write(certificate.certificate, to: "tls.pem")
        try write(certificate.key, to: "tls.key")
        return (file("tls.pem"), file("tls.key"))
    }

    private func write(_ configuration: BrokerConfiguration, _ name: String, user: String) throws {
        try write(configuration.yaml(database: address(user), directory: directory.path), to: "\(name).yaml")
    }

    // MARK: Commands

    /// Runs `native-sso` as the database's owner; what it wrote.
    @discardableResult
    package func command(_ arguments: String...) async throws -> String { try await command(arguments) }

    @discardableResult
    package func command(_ arguments: [String], by program: String? = nil) async throws -> String {
        try await ManagedProcess.output(
            of: try program ?? BuildProducts.path(of: "native-sso"), withConfiguration(arguments),
            name: (["native-sso"] + arguments).joined(separator: " "), log: commandLog)
    }

    /// The same, whatever its exit status.
    package func run(
        _ arguments: [String], environment: [String: String] = [:]
    ) async throws -> ManagedProcess.Outcome {
        try await ManagedProcess.run(
            try BuildProducts.path(of: "native-sso"), withConfiguration(arguments),
            environment: environment, log: commandLog)
    }

    private func withConfiguration(_ arguments: [String]) -> [String] {
        ["--config", file("\(Self.administration).yaml")] + arguments
    }

    /// One for each command, so that commands may run beside each other.
    private var commandLog: URL {
        ownCommandLog ?? directory.appending(path: "command-\(Unguessable.make().prefix(12)).log")
    }

    // MARK: Brokers

    /// Starts a broker on ports of its own; it need not be ready yet.
    /// - Parameters:
    ///   - name: Of its log, and of its configuration if that is another.
    ///   - environment: Settings that win over its configuration.
    ///   - change: What its configuration says otherwise.
    package func startBroker(
        _ name: String = "broker", ports: (public: UInt16, internal: UInt16)? = nil,
        environment: [String: String] = [:], _ change: ((inout BrokerConfiguration) -> Void)? = nil
    ) throws -> Broker {
        if let change {
            var configuration = configuration
            change(&configuration)
            try write(configuration, name, user: serviceRole)
        }
        let state = try make("state/\(name)")
        return try Broker(
            configuration: directory.appending(path: "\(change == nil ? Self.service : name).yaml"),
            log: directory.appending(path: "\(name).log"), ports: ports,
            environment: ["NATIVE_SSO_DATABASE_STATE_DIRECTORY": state.path].merging(environment) { $1 })
    }

    /// Runs `body` with a broker that is ready, and stops the broker afterwards, whatever happened.
    package func withBroker<Value>(
        _ name: String = "broker", environment: [String: String] = [:],
        _ change: ((inout BrokerConfiguration) -> Void)? = nil, body: (Broker) async throws -> Value
    ) async throws -> Value {
        let broker = try startBroker(name, environment: environment, change)
        return try await ending {
            try await broker.untilReady(every: .milliseconds(1))
            return try await body(broker)
        } with: {
            try await broker.stop()
        }
    }

    /// A look into the database.
    /// - Parameter server: Where it is now, if it has moved.
    package func session(on server: PrivateCluster? = nil) throws -> SQLSession {
        try SQLSession(server ?? cluster, database: database, log: directory.appending(path: "psql.log"))
    }
}

extension Installation {
    /// Registers what a registry file describes, by command.
    package func register(_ registryFile: String) async throws {
        try write(registryFile, to: "registry.yaml")
        let path = file("registry.yaml")
        let plan = try await command("registry", "plan", path, "--json")
        let limits = JSONLimits(depth: 8, members: 10_000, elements: 1000)
        guard let serial = try JSONReader.parse(Array(plan.utf8), limits: limits).object?.number("serial")?.text else {
            throw ManagedProcess.Failure(description: "registry plan showed no serial")
        }
        try await command(
            "registry", "apply", path, "--serial", serial, "--execute", "--reason", "a new installation")
    }

    /// Makes a secret for a client, by command.
    package func rotateSecret(of client: String) async throws -> String {
        let output = try await command("client", "secret", "rotate", client, "--json")
        guard let secret = (try JSONReader.parse(Array(output.utf8))).object?.string("client_secret") else {
            throw ManagedProcess.Failure(description: "client secret rotate showed no secret")
        }
        return secret
    }

    /// Registers the public part of a client's key, by command.
    package func addKey(_ key: TestKey, of client: String) async throws {
        let file = directory.appending(path: "\(client).jwk")
        try Data(key.publicKey.json.octets).write(to: file)
        try await command("client", "key", "add", client, "--file", file.path)
    }
}
