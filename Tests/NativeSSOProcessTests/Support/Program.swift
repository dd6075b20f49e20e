import Foundation
import Synchronization

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

/// A started `native-sso`. Killed when its owner lets go.
final class RunningProgram: Sendable {
    private let process: Mutex<Process>
    private let standardOutput = Lines()
    private let standardError = Lines()
    private let ended: AsyncStream<Int32>
    let id: pid_t

    init(_ arguments: [String], environment: [String: String]) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: Program.path)
        process.arguments = arguments
        process.environment = environment
        let (output, errors) = (Pipe(), Pipe())
        process.standardOutput = output
        process.standardError = errors
        process.standardInput = FileHandle.nullDevice
        let (ended, end) = AsyncStream<Int32>.makeStream()
        process.terminationHandler = { process in
            let status = process.terminationReason == .exit ? process.terminationStatus : -process.terminationStatus
            end.yield(status)
            end.finish()
        }
        try process.run()
        id = process.processIdentifier
        self.ended = ended
        self.process = Mutex(process)
        standardOutput.read(output.fileHandleForReading)
        standardError.read(errors.fileHandleForReading)
    }

    deinit {
        let isRunning = process.withLock { $0.isRunning }
        if isRunning { kill(id, SIGKILL) }
    }

    func signal(_ signal: Int32) { kill(id, signal) }

    /// Waits for its end: the exit status, or the signal that killed it, negated.
    func status() async -> Int32 {
        var status: Int32 = .min
        for await value in ended { status = value }
        await standardOutput.end()
        await standardError.end()
        return status
    }

    var output: String { standardOutput.text }
    var errors: String { standardError.text }

    /// Waits for a line on standard error that holds `text`; nil where the program ended without it.
    func errorLine(containing text: String) async -> String? { await standardError.first { $0.contains(text) } }
}
