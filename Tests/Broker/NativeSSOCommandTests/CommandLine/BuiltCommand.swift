import ChildProcesses
import Foundation

/// The built program, run as a process of its own.
struct BuiltCommand {
    /// `nil`: it did not end in a minute, and was killed.
    let status: Int32?
    let output: String
    let error: String

    private static var executable: String {
        Bundle.module.bundleURL.deletingLastPathComponent().appending(path: "native-sso").path
    }

    /// - Parameter output: Where standard output goes instead of into the result.
    init(
        _ arguments: [String], environment: [String: String] = [:], output: FileHandle? = nil
    ) async throws {
        let run = try ProgramRun(
            [Self.executable] + arguments, environment: environment, inOwnSession: true, output: output,
            within: .seconds(60))
        (status, self.output, error) = (run.status, run.output, run.errors)
    }
}
