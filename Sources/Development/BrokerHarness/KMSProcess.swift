package import Foundation
import Synchronization

/// AWS KMS by moto, which can be told to fail. It checks the signature of each request.
package final class KMSProcess: Sendable {
    package enum Fault: Sendable {
        /// Connections end without an answer.
        case dropped
        case slow(seconds: Double)
        case throttled, denied, error
        /// The first requests alone, as many as this.
        case throttledFirst(Int)
        /// The time of a request is refused.
        case clock
        /// Only the key ``renewedCredentials`` is known.
        case renewed
        /// Another program answers: with HTML, with JSON without a result, with a wrong result, or with 1 MiB.
        case page, empty, garbage, endless

        fileprivate var text: String {
            switch self {
            case .dropped: "drop"
            case .slow(let seconds): "slow \(seconds)"
            case .throttledFirst(let count): "throttled \(count) \(Unguessable.make())"
            case .throttled, .denied, .error, .clock, .renewed, .page, .empty, .garbage, .endless: "\(self)"
            }
        }
    }

    package static var isInstalled: Bool { PythonEnvironment.kms.isMade }
    package static let region = "eu-central-1"
    package static let credentials = (accessKey: "AKIDTEST", secretKey: "test-secret")
    package static let renewedCredentials = (accessKey: "AKIDRENEWED", secretKey: "renewed-secret")

    package let process: ManagedProcess
    package let endpoint: String
    /// A symmetric key, for MAC keys.
    package let wrappingKey: String
    private let faults: URL

    /// - Parameter directory: For its log, and for the file that tells it how to fail.
    package init(in directory: URL) async throws {
        faults = directory.appending(path: "kms.fault")
        try Data().write(to: faults)
        process = try ManagedProcess(
            PythonEnvironment.kms.program("python"),
            ["-B", PythonEnvironment.scripts.appending(path: "kms.py").path, faults.path], name: "KMS",
            log: directory.appending(path: "kms.log"))
        let words = try await process.nextLine()?.split(separator: " ") ?? []
        guard words.count == 2 else { throw await process.ended(because: "has no port") }
        (endpoint, wrappingKey) = ("http://127.0.0.1:\(words[0])", String(words[1]))
    }

    deinit { process.kill() }

    /// How the next requests fail; `nil`: they do not.
    package func fail(with fault: Fault?) throws {
        try Data((fault?.text ?? "").utf8).write(to: faults, options: .atomic)
    }
}
