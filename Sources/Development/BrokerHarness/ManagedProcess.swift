import ChildProcesses
public import Foundation
import Synchronization

/// A program that runs beside the tests and never outlives them.
///
/// Whoever waits for it and is cancelled, by the time limit of a test or otherwise, has it killed: a test that hangs with
/// it ends then, and says so.
public final class ManagedProcess: Sendable {
    public let pid: Int32
    /// What it wrote to standard error.
    public let log: URL
    private let child: ChildProcess
    private let output: LineReader

    /// Starts a program.
    /// - Parameters:
    ///   - environment: All that it sees of the environment, beside a `PATH`.
    ///   - log: Standard error is appended to this file.
    ///   - input: What it reads; nothing by default.
    public init(
        _ program: String, _ arguments: [String], environment: [String: String] = [:], log: URL,
        input: FileHandle? = nil
    ) throws {
        let errors = try FileHandle(appendingTo: log.path)
        let channel = try PrivateChannel()
        let guardian = try Guardian.shared.get()
        let child = try ChildProcess(
            [program] + arguments, environment: ChildProcess.bareEnvironment.merging(environment) { $1 },
            inOwnSession: true, input: input, output: channel.writing, errors: errors)
        try channel.writing.close()
        try guardian.watch(child.pid)
        self.child = child
        pid = child.pid
        self.log = log
        output = LineReader(channel.reading)
        Task {
            _ = await child.exitStatus
            try? guardian.release(child.pid)
        }
    }

    public var isRunning: Bool { child.isRunning }

    /// Waits for the end. The exit status, or 128 + the signal that ended it.
    public var exitStatus: Int32 {
        get async { await killedOnCancellation { await child.exitStatus } }
    }

    /// The next line of standard output; `nil` when there are no more. When none comes in time, the program is killed.
    public func nextLine(within limit: Duration = .seconds(120)) async throws -> String? {
        do {
            return try await killedOnCancellation { try await output.next(within: limit) }
        } catch {
            signal(SIGKILL)
            throw error
        }
    }

    public func signal(_ signal: Int32) { child.signal(signal) }

    /// Asks the program to end and waits for it. Kills it when it has not ended in time: its status says so then.
    @discardableResult public func terminate(within limit: Duration = .seconds(60)) async -> Int32 {
        signal(SIGTERM)
        return await killed(after: limit) { await exitStatus }
    }

    /// Runs a program to its end; what it wrote to standard output.
    /// - Parameter limit: When it is killed. What is shared by tests is made by a task that no test's end cancels.
    public static func run(
        _ program: String, _ arguments: [String], environment: [String: String] = [:], log: URL,
        within limit: Duration = .seconds(300)
    ) async throws -> (status: Int32, output: String) {
        let process = try ManagedProcess(program, arguments, environment: environment, log: log)
        return await process.killed(after: limit) {
            await process.killedOnCancellation {
                var output = ""
                for await line in process.output.lines { output += line + "\n" }
                return (await process.exitStatus, output)
            }
        }
    }

    private func killed<Value>(after limit: Duration, _ wait: () async -> Value) async -> Value {
        let watch = Task { [child, output] in
            try await Task.sleep(for: limit)
            child.signal(SIGKILL)
            // Whatever it has started may hold its output open.
            _ = await child.exitStatus
            output.finish()
        }
        defer { watch.cancel() }
        return await wait()
    }

    private func killedOnCancellation<Value>(_ wait: () async throws -> Value) async rethrows -> Value {
        try await withTaskCancellationHandler(operation: wait) { child.signal(SIGKILL) }
    }
}

/// A shell that outlives this process just long enough to end what it started, however it died.
final class Guardian: Sendable {
    static let shared = Result { try Guardian() }

    private let orders: FileHandle

    private static let script = """
        trap '' INT TERM
        \(ShellRegister.loop)
        [ -z "$pids" ] && exit
        kill -CONT $pids; kill -TERM $pids; sleep 5; kill -KILL $pids
        """

    private init() throws {
        let channel = try PrivateChannel()
        _ = try ChildProcess(
            ["/bin/sh", "-c", Self.script, "guardian"], environment: ChildProcess.bareEnvironment, inOwnSession: true,
            input: channel.reading)
        orders = channel.writing
    }

    func watch(_ pid: Int32) throws { try orders.send("watch \(pid)\n") }

    func release(_ pid: Int32) throws { try orders.send("release \(pid)\n") }
}
