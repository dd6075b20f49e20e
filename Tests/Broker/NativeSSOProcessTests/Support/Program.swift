import ChildProcesses
import Foundation

/// The built `native-sso`, as a shell would start it.
enum Program {
    struct Outcome: Sendable {
        let status: Int32
        let output: String
        let errors: String
    }

    /// Beside the test executable.
    static let path = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        .appendingPathComponent("native-sso").path

    /// Runs one command to its end.
    static func run(_ arguments: [String], environment: [String: String] = [:]) async throws -> Outcome {
        let process = try RunningProgram(arguments, environment: environment)
        let status = await process.status()
        return Outcome(status: status, output: process.output, errors: process.errors)
    }
}

/// A started `native-sso`. Killed when its owner lets go, or when a task that waits for it is cancelled.
final class RunningProgram: Sendable {
    private let child: ChildProcess
    private let standardOutput = Lines()
    private let standardError = Lines()

    init(_ arguments: [String], environment: [String: String]) throws {
        let (output, errors) = (try PrivateChannel(), try PrivateChannel())
        child = try ChildProcess(
            [Program.path] + arguments, environment: environment, inOwnSession: true, output: output.writing,
            errors: errors.writing)
        try output.writing.close()
        try errors.writing.close()
        standardOutput.read(output.reading)
        standardError.read(errors.reading)
    }

    deinit { child.signal(SIGKILL) }

    var id: pid_t { child.pid }

    func signal(_ signal: Int32) { child.signal(signal) }

    /// Waits for its end: the exit status, or 128 + the signal that killed it.
    func status() async -> Int32 {
        await killedOnCancellation {
            let status = await child.exitStatus
            await standardOutput.end()
            await standardError.end()
            return status
        }
    }

    var output: String { standardOutput.text }
    var errors: String { standardError.text }

    /// Waits for a line on standard error that holds `text`; nil where the program ended without it.
    func errorLine(containing text: String) async -> String? {
        await killedOnCancellation { await standardError.first { $0.contains(text) } }
    }

    private func killedOnCancellation<Value>(_ wait: () async -> Value) async -> Value {
        await withTaskCancellationHandler(operation: wait) { child.signal(SIGKILL) }
    }
}
