import Foundation
import BrokerHarness

/// schemathesis, from PyPI, in a virtual environment of its own. It sends good and bad requests from an OpenAPI
/// document, and compares the answers with it.
final class Schemathesis: Sendable {
    private static let version = "4.32.5"
    private static let installing = Task { try await Schemathesis() }
    /// `nil` where it cannot be had: without Python, or without PyPI.
    static var installed: Schemathesis? { get async { try? await installing.value } }

    private let directory: URL

    struct Failure: Error {
        let output: String
    }

    private init() async throws {
        directory = FileManager.default.temporaryDirectory.appending(path: "schemathesis-\(Unguessable.make())")
        try await run("python3", ["-m", "venv", directory.path])
        try await run(
            program("pip"), ["install", "--quiet", "--disable-pip-version-check", "schemathesis==\(Self.version)"])
    }

    deinit { try? FileManager.default.removeItem(at: directory) }

    /// Tries what the document says of some of its operations. What it wrote; throws where an answer was another.
    @discardableResult
    func check(_ document: URL, port: UInt16, _ arguments: [String]) async throws -> String {
        // By itself it knows no 408, 413, 417, 429 and 431, and would take a 5xx for a refusal.
        let configuration = directory.appending(path: "schemathesis.toml")
        try Data(
            """
            [checks]
            negative_data_rejection.expected-statuses = [400, 401, 404, 405, 408, 413, 417, 429, 431]
            """.utf8
        ).write(to: configuration)
        return try await run(
            program("schemathesis"),
            [
                "--config-file", configuration.path, "run", document.path, "--url", "http://127.0.0.1:\(port)",
                "--seed", "1", "--max-examples", "150",
                "--request-timeout", "20", "--continue-on-failure",
            ] + arguments)
    }

    private func program(_ name: String) -> String { directory.appending(path: "bin/\(name)").path }

    @discardableResult
    private func run(_ program: String, _ arguments: [String]) async throws -> String {
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let log = directory.appending(path: "log")
        // The environment says how to reach PyPI. schemathesis stores its findings in its working directory: a fresh
        // directory makes every run the first.
        let environment = ProcessInfo.processInfo.environment.merging(["NO_COLOR": "1"]) { $1 }
        let result = try await ManagedProcess.run(
            "/usr/bin/env", ["--chdir", directory.path, program] + arguments, environment: environment, log: log,
            within: .seconds(180))
        guard result.status == 0 else {
            throw Failure(output: result.output + ((try? String(contentsOf: log, encoding: .utf8)) ?? ""))
        }
        return result.output
    }
}
