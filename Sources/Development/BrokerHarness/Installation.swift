public import BrokerTesting
public import Foundation
import JOSE
public import PrivateCluster
import StrictCoding

/// A broker's database, keys and configuration, made with the broker's own commands as an operator would.
public final class Installation: Sendable {
    public let cluster: PrivateCluster
    public let database: String
    /// Configuration, keys and logs; gone when the installation is.
    public let directory: URL
    public let configuration: BrokerConfiguration
    private let passwordFile: URL
    /// Where a program finds the database, for a user.
    private let address: @Sendable (_ user: String) -> String

    public struct CommandFailed: Error, CustomStringConvertible {
        public let description: String
    }

    /// An empty database, migrated, with keys in use and no client.
    public convenience init(_ configuration: BrokerConfiguration, on cluster: PrivateCluster) async throws {
        try await self.init(configuration, on: cluster) { cluster.connectionURI(database: $0, user: $1) }
    }

    /// The same on two servers of which one takes the writes: the programs know both.
    public convenience init(_ configuration: BrokerConfiguration, on pair: ReplicatedPair) async throws {
        try await self.init(configuration, on: await pair.primary) { pair.connectionURI(database: $0, user: $1) }
    }

    private init(
        _ configuration: BrokerConfiguration, on cluster: PrivateCluster,
        address: @escaping @Sendable (_ database: String, _ user: String) -> String
    ) async throws {
        self.configuration = configuration
        self.cluster = cluster
        let database = "t" + String(UInt64.random(in: 0...UInt64.max), radix: 36)
        self.database = database
        self.address = { address(database, $0) }
        directory = FileManager.default.temporaryDirectory.appending(path: "native-sso-test-\(database)")
        passwordFile = directory.appending(path: "database-password")
        try FileManager.default.createDirectory(
            at: directory.appending(path: "keys"), withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        try Data(cluster.password.utf8).write(to: passwordFile)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: passwordFile.path)
        try await cluster.createDatabase(database)
        try writeConfiguration("admin", user: PrivateCluster.superuser)
        try writeConfiguration("broker", user: serviceRole)
        try await command("migrate", "up")
        // A login of its own for each: roles belong to the whole cluster.
        try await cluster.psql(
            "CREATE ROLE \(serviceRole) LOGIN PASSWORD '\(cluster.password)' IN ROLE native_sso_broker")
        try await command("key", "generate", "--use", "all")
    }

    /// The login of the brokers.
    public var serviceRole: String { "service_\(database)" }

    deinit { try? FileManager.default.removeItem(at: directory) }

    /// Runs `native-sso` as the database's owner; what it wrote.
    @discardableResult
    public func command(_ arguments: String...) async throws -> String { try await command(arguments) }

    @discardableResult
    public func command(_ arguments: [String]) async throws -> String {
        let (status, output) = try await outcome(of: arguments)
        guard status == 0 else {
            let errors = (try? String(contentsOf: commandLog, encoding: .utf8)) ?? ""
            throw CommandFailed(description: "native-sso \(arguments) → \(status): \(output) \(errors.suffix(1000))")
        }
        return output
    }

    /// The same, whatever its exit status.
    public func outcome(of arguments: [String]) async throws -> (status: Int32, output: String) {
        try await ManagedProcess.run(
            try BuildProducts.path(of: "native-sso"), arguments + ["--config", file("admin").path], log: commandLog)
    }

    private var commandLog: URL { directory.appending(path: "commands.log") }

    /// Starts a broker on ports of its own; it need not be ready yet.
    public func startBroker(_ name: String = "broker") throws -> Broker {
        try Broker(configuration: file("broker"), log: directory.appending(path: "\(name).log"))
    }

    /// Starts one that is configured otherwise.
    public func startBroker(_ name: String, _ change: (inout BrokerConfiguration) -> Void) throws -> Broker {
        var configuration = configuration
        change(&configuration)
        try write(configuration, name, user: serviceRole)
        return try Broker(configuration: file(name), log: directory.appending(path: "\(name).log"))
    }

    /// A look into the database.
    /// - Parameter server: Where it is now, if it has moved.
    public func session(on server: PrivateCluster? = nil) throws -> SQLSession {
        try SQLSession(server ?? cluster, database: database, log: directory.appending(path: "psql.log"))
    }

    private func file(_ name: String) -> URL { directory.appending(path: "\(name).yaml") }

    private func writeConfiguration(_ name: String, user: String) throws {
        try write(configuration, name, user: user)
    }

    private func write(_ configuration: BrokerConfiguration, _ name: String, user: String) throws {
        let yaml = configuration.yaml(
            database: address(user), passwordFile: passwordFile.path,
            keys: directory.appending(path: "keys").path)
        try Data(yaml.utf8).write(to: file(name))
    }
}

extension Installation {
    /// Makes a secret for a client, by command.
    public func rotateSecret(of client: String) async throws -> String {
        let output = try await command("client", "secret", "rotate", client, "--json")
        guard let secret = (try JSONReader.parse(Array(output.utf8))).object?.string("client_secret") else {
            throw CommandFailed(description: "client secret rotate showed no secret")
        }
        return secret
    }

    /// Registers the public part of a client's key, by command.
    public func addKey(_ key: TestKey, of client: String) async throws {
        var json = JSONWriter()
        json.value(.object(key.publicKey.json))
        let file = directory.appending(path: "\(client).jwk")
        try Data(json.bytes).write(to: file)
        try await command("client", "key", "add", client, "--file", file.path)
    }
}
