import ChildProcesses
package import Foundation
import Synchronization

/// A program that runs beside this process and never outlives it.
///
/// Cancelling a task that waits for the program kills it, so that a test with a time limit ends.
package final class ManagedProcess: Sendable {
    package let name: String
    package let pid: Int32
    /// What it wrote to standard error.
    package let log: URL
    private let child: ChildProcess
    private let output: LineReader

    /// How a program ended, and what it wrote.
    package struct Outcome: Sendable {
        /// The exit status, or 128 + the signal that ended it.
        package let status: Int32
        package let output: String
        package let errors: String
    }

    /// A program did not do what it was started for.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String

        package init(description: String) { self.description = description }

        /// - Parameter log: What it wrote to standard error.
        init(_ name: String, _ outcome: String, log: String) {
            description = "\(name) \(outcome). The end of its log:\n\(log.suffix(2000))"
        }
    }

    /// Starts a program.
    /// - Parameters:
    ///   - name: What a ``Failure`` calls it; its file's name by default.
    ///   - environment: All that it sees of the environment, beside a `PATH`.
    ///   - log: Standard error is appended to this file.
    ///   - input: What it reads; nothing by default.
    package init(
        _ program: String, _ arguments: [String], name: String? = nil, environment: [String: String] = [:], log: URL,
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
        self.name = name ?? URL(filePath: program).lastPathComponent
        self.child = child
        pid = child.pid
        self.log = log
        output = LineReader(channel.reading)
        Task {
            _ = await child.exitStatus
            try? guardian.release(child.pid)
        }
    }

    package var isRunning: Bool { child.isRunning }

    /// Waits for the end. The exit status, or 128 + the signal that ended it.
    package var exitStatus: Int32 {
        get async { await killedOnCancellation { await child.exitStatus } }
    }

    /// The next line of standard output; `nil` after the last. Kills the program if no line comes in time.
    package func nextLine(within limit: Duration = .seconds(120)) async throws -> String? {
        do {
            return try await killedOnCancellation { try await output.next(within: limit) }
        } catch {
            signal(SIGKILL)
            throw error
        }
    }

    /// Waits for the line by which the program says that it is ready. Ends the program if it says anything else, or nothing.
    package func waitForReadiness(_ line: String, within limit: Duration = .seconds(30)) async throws {
        let said: String?
        do throws(LineReader.Silence) {
            said = try await output.next(within: limit)
        } catch {
            throw await ended(because: "did not get ready within \(limit)")
        }
        if said == line { return }
        throw await ended(because: said.map { "did not say that it is ready, but \($0)" } ?? "has ended")
    }

    /// Ends it. The failure that it is then.
    package func ended(because problem: String) async -> Failure {
        let status = await terminate(within: .seconds(5))
        return Failure(name, "\(problem) (status \(status))", log: errors)
    }

    /// Everything in its log.
    package var errors: String { (try? String(contentsOf: log, encoding: .utf8)) ?? "" }

    /// Waits for a line on standard error that holds `text`; `nil` if the program ended without it.
    package func errorLine(containing text: String) async throws -> String? {
        while true {
            let isRunning = isRunning
            let lines = errors.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
            if let line = lines.first(where: { $0.contains(text) }) { return String(line) }
            guard isRunning else { return nil }
            try await Task.sleep(for: .milliseconds(10))
        }
    }

    package func signal(_ signal: Int32) { child.signal(signal) }

    /// Kills the program with every process that it started.
    package func kill() { child.kill() }

    /// Asks the program to end, even if it is frozen, and waits for it. Kills it when it has not ended in time: its status
    /// says so then.
    @discardableResult package func terminate(within limit: Duration = .seconds(60)) async -> Int32 {
        signal(SIGTERM)
        signal(SIGCONT)
        return await killed(after: limit) { await exitStatus }
    }

    /// Runs a program to its end, and kills it after `limit`.
    /// - Parameter log: Gets what it writes to standard error; by default a temporary file.
    package static func run(
        _ program: String, _ arguments: [String], environment: [String: String] = [:], log: URL? = nil,
        within limit: Duration = .seconds(300)
    ) async throws -> Outcome {
        let file =
            log ?? FileManager.default.temporaryDirectory.appending(path: "run-\(Unguessable.make().prefix(12)).log")
        defer { if log == nil { try? FileManager.default.removeItem(at: file) } }
        let start = (try? FileManager.default.attributesOfItem(atPath: file.path)[.size] as? Int) ?? 0
        let process = try ManagedProcess(program, arguments, environment: environment, log: file)
        let (status, output) = await process.killed(after: limit) {
            await process.killedOnCancellation {
                var output = ""
                for await line in process.output.lines { output += line + "\n" }
                return (await process.exitStatus, output)
            }
        }
        let errors = ((try? Data(contentsOf: file)) ?? Data()).dropFirst(start)
        return Outcome(status: status, output: output, errors: String(decoding: errors, as: UTF8.self))
    }

    /// What a program that must succeed writes to standard output.
    package static func output(
        of program: String, _ arguments: [String], name: String? = nil, environment: [String: String] = [:],
        log: URL? = nil, within limit: Duration = .seconds(300)
    ) async throws -> String {
        let deadline = ContinuousClock.now + limit
        let run = try await run(program, arguments, environment: environment, log: log, within: limit)
        guard run.status != 0 else { return run.output }
        let isLate = run.status == 128 + SIGKILL && ContinuousClock.now >= deadline
        throw Failure(
            name ?? ([URL(filePath: program).lastPathComponent] + arguments).joined(separator: " "),
            isLate ? "did not end within \(limit)" : "ended with status \(run.status)", log: run.errors)
    }

    /// Whether a process runs; one that ended and was not waited for does not.
    package static func isAlive(_ pid: Int32) -> Bool {
        guard let stat = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8),
            let name = stat.lastIndex(of: ")")  // pid (name) state …
        else { return false }
        return stat[name...].split(separator: " ").dropFirst().first != "Z"
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
