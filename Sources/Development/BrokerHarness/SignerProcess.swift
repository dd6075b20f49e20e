import Foundation
import Glibc
import Synchronization

/// A signer process that serves the keys of an installation.
package final class SignerProcess: Sendable {
    package let socket: String
    private let installation: Installation
    private let running: Mutex<ManagedProcess>

    /// It serves the account of this process.
    package init(_ installation: Installation) async throws {
        self.installation = installation
        socket = installation.file("signer")
        try installation.write(
            """
            issuer: \(installation.configuration.issuer)
            development: true
            keys: { directory: "\(installation.file("keys"))" }
            signer: { socket: "\(socket)", users: [\(geteuid())], rate: 1000000 }
            log: { format: json }

            """, to: "signer.yaml")
        running = Mutex(try Self.launch(installation))
        try await untilListening(1)
    }

    deinit { process.signal(SIGKILL) }

    package var process: ManagedProcess { running.withLock { $0 } }

    /// Starts it again after its process has ended.
    package func restart() async throws {
        let before = starts
        let process = try Self.launch(installation)
        running.withLock { $0 = process }
        try await untilListening(before + 1)
    }

    private var starts: Int { process.errors.ranges(of: "signer listening").count }

    private func untilListening(_ starts: Int) async throws {
        _ = try await eventually("the signer listens") { [self] in
            guard process.isRunning else { throw await process.ended(because: "has ended") }
            return self.starts >= starts ? true : nil
        }
    }

    private static func launch(_ installation: Installation) throws -> ManagedProcess {
        try ManagedProcess(
            try BuildProducts.path(of: "native-sso"), ["signer", "--config", installation.file("signer.yaml")],
            name: "the signer", log: installation.directory.appending(path: "signer.log"))
    }
}
