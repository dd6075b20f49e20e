import BrokerHarness
import Foundation
import PrivateCluster

/// The cluster that `deploy/cluster --once` has started: it gives its directory and its control program.
struct Cluster: Sendable {
    /// Where the programs find the primary: HAProxy.
    let server: PrivateCluster
    private let directory: String
    private let program: String

    static let variables = ["CLUSTER_DIRECTORY", "CLUSTER_CONTROL"]
    static var isGiven: Bool { variables.allSatisfy { ProcessInfo.processInfo.environment[$0] != nil } }

    init() throws {
        let environment = ProcessInfo.processInfo.environment
        directory = environment[Self.variables[0]] ?? ""
        program = environment[Self.variables[1]] ?? ""
        server = try PrivateCluster.attached(directory: directory, port: 5432)
    }

    /// Runs a command of `deploy/cluster`.
    func control(_ command: String...) async throws {
        let log = URL(filePath: directory).appending(path: "control.log")
        _ = try await ManagedProcess.output(
            of: program, command, name: "deploy/cluster \(command)",
            environment: ["CLUSTER_DIRECTORY": directory], log: log)
    }

    /// Waits until a command succeeds.
    func until(_ command: String) async throws {
        _ = try await eventually(command, within: .seconds(120)) { try? await control(command) }
    }

    /// Adds a line to the table that the script prints.
    func tell(_ row: String) throws {
        let file = "\(directory)/table"
        let text = (try? String(contentsOfFile: file, encoding: .utf8)) ?? ""
        try (text + row + "\n").write(toFile: file, atomically: true, encoding: .utf8)
    }
}
