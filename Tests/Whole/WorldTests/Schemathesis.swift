import Foundation
import BrokerHarness

/// schemathesis, from PyPI. It sends good and bad requests from an OpenAPI document, and compares the answers with it.
final class Schemathesis: Sendable {
    private let directory: URL

    struct Failure: Error {
        let output: String
    }

    init() throws {
        directory = URL(filePath: try WorkingDirectory(named: "schemathesis").path)
    }

    /// Tries what the document says of some of its operations. Throws where an answer was another.
    func check(_ document: URL, port: UInt16, _ arguments: [String]) async throws {
        // By itself it knows no 408, 413, 417, 429 and 431, and would take a 5xx for a refusal.
        let configuration = directory.appending(path: "schemathesis.toml")
        try Data(
            """
            [checks]
            negative_data_rejection.expected-statuses = [400, 401, 404, 405, 408, 413, 417, 429, 431]
            """.utf8
        ).write(to: configuration)
        // By itself it cannot write the media type of RFC 8935.
        try Data(
            """
            import schemathesis
            schemathesis.serializer.alias("application/secevent+jwt", "text/plain")
            """.utf8
        ).write(to: directory.appending(path: "media_types.py"))
        // It stores its findings in its working directory: a fresh directory makes every run the first.
        let result = try await ManagedProcess.run(
            "/usr/bin/env",
            [
                "--chdir", directory.path, try Software.schemathesis.path("bin/schemathesis"), "--config-file",
                configuration.path, "run", document.path, "--url", "http://127.0.0.1:\(port)", "--seed", "1",
                "--max-examples", "150", "--request-timeout", "20", "--continue-on-failure",
            ] + arguments,
            environment: ["NO_COLOR": "1", "HOME": directory.path, "SCHEMATHESIS_HOOKS": "media_types"],
            within: .seconds(180))
        guard result.status == 0 else { throw Failure(output: result.output + result.errors) }
    }
}
