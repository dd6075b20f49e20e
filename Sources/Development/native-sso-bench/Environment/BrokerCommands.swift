import BrokerTesting
import Foundation
import JOSE
import PrivateCluster

/// The broker's configuration and its command line: the one place that knows how they are spelt.
struct BrokerCommands {
    /// The role that the broker connects as.
    static let serviceRole = "native_sso_broker"
    static let issuer = "https://sso.example.test"
    /// What proofs are made for.
    static let tokenEndpoint = "\(issuer)/token"

    private let directory: String

    /// Writes the configurations of administration and service into `directory`, with the key set of the identity provider.
    init(
        database: String, algorithm: SignatureAlgorithm, key: TestKey, cluster: BenchmarkCluster, directory: String
    ) throws {
        self.directory = directory
        try FileManager.default.createDirectory(
            atPath: "\(directory)/keys", withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        try write(try TestKey.document([key]), to: "key-set.json")
        try write(Array(cluster.password.utf8), to: "database-password")
        for (name, user) in [("administration", PrivateCluster.superuser), ("broker", Self.serviceRole)] {
            let url = cluster.uri(database: database, user: user)
            try write(Array(configuration(url: url, algorithm: algorithm).utf8), to: "\(name).yaml")
        }
    }

    /// Of the broker, beside this program.
    static func program() throws -> String {
        let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let path = URL(filePath: own).deletingLastPathComponent().appending(path: "native-sso").path
        guard FileManager.default.isExecutableFile(atPath: path) else {
            throw Program.Failure(description: "there is no \(path): build the package first (swift build)")
        }
        return path
    }

    /// What it wrote.
    @discardableResult
    func run(_ arguments: String...) throws -> String {
        try Program.output(of: [try Self.program(), "--config", "\(directory)/administration.yaml"] + arguments)
    }

    private func configuration(url: String, algorithm: SignatureAlgorithm) -> String {
        """
        development: true
        issuer: \(Self.issuer)
        database:
          url: "\(url)"
          password_file: "\(directory)/database-password"
        keys: { directory: "\(directory)/keys" }
        identity_providers:
          - issuer: \(SampleApps.issuer)
            jwks_file: "\(directory)/key-set.json"
            profiles: [device-id, device-secret]
            algorithms: [\(algorithm.rawValue)]
            admit_on_first_sight: true
        # They count as ever, and refuse no request: a benchmark asks more of each login than any app.
        limits:
        \(limits.map { "  \($0): 1000000/1s\n" }.joined())
          # One address is everybody's here.
          address: off
          network: off
          client_failures: off
          code: off
          logout: off
        """
    }

    /// Lets apps bring logins and codes to the broker, too; before it is started.
    /// - Parameter tokenEndpoint: Of the identity provider.
    func allowEnrolment(tokenEndpoint: String) throws {
        let text = try String(contentsOfFile: "\(directory)/broker.yaml", encoding: .utf8)
        let enrolment = """
                enrolment: exchange
                code_relay: { token_endpoint: "\(tokenEndpoint)", at_once: 1000 }

            """
        let mark = "    admit_on_first_sight: true\n"
        try write(Array(text.replacing(mark, with: mark + enrolment).utf8), to: "broker.yaml")
    }

    private let limits = ["client", "session", "user", "device", "device_failures"]

    private func write(_ bytes: [UInt8], to name: String) throws {
        let path = "\(directory)/\(name)"
        guard
            FileManager.default.createFile(
                atPath: path, contents: Data(bytes), attributes: [.posixPermissions: 0o600])
        else { throw Program.Failure(description: "cannot write \(path)") }
    }
}
