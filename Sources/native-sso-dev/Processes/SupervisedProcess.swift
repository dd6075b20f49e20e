import ChildProcesses
import Foundation

/// A program that ends with this one, however this one ends.
///
/// Between the two stands a shell. When its lifeline is severed, by ``stop()`` or because this process was killed, it asks
/// the program to end, and kills it five seconds later.
final class SupervisedProcess: Sendable {
    let name: String
    /// Of the program itself, not of the shell.
    let pid: Int32
    private let shell: Shell
    private let output: LineReader

    // The program's number cannot belong to another process when the shell signals it: it has not been waited for.
    private static let script =
        ShellDeadline.function + """

            "$@" </dev/null &
            program=$!
            echo $program
            exec >/dev/null 2>&1
            read -r _
            kill -CONT $program
            kill -TERM $program
            end_within 5 KILL $program &
            timer=$!
            wait $program
            status=$?
            kill $timer
            wait $timer
            exit $status
            """

    /// Starts a program and returns once it has a number.
    ///
    /// - Parameters:
    ///   - arguments: The program's path, and what it is told.
    ///   - log: Gets what the program writes to standard error.
    init(_ name: String, _ arguments: [String], environment: [String: String], log: String) async throws {
        let output = try PrivateChannel()
        let shell = try Shell(
            Self.script, name: name, arguments: arguments, environment: environment,
            output: output.writing, errors: log)
        // The shell lets go of the output at once, so its end is the end of the program: nothing is left to supervise.
        self.output = LineReader(output.reading) { shell.lifeline.sever() }
        self.shell = shell
        self.name = name
        guard let pid = await self.output.next().flatMap({ Int32($0) }) else {
            shell.lifeline.sever()
            throw ProcessFailure(name: name, status: await shell.waitForEnd(), log: log)
        }
        self.pid = pid
    }

    /// The next line that the program writes to standard output; nil when it has ended.
    func nextLine() async -> String? { await output.next() }

    /// The exit status, or 128 + the signal that ended the program, once it has ended.
    func waitForEnd() async -> Int32 { await shell.waitForEnd() }

    /// Ends the program and waits until it has ended. Harmless where it has.
    func stop() async {
        shell.lifeline.sever()
        _ = await shell.waitForEnd()
    }

    /// Runs a program to its end; what it wrote to standard output. Cancelling the task ends the program.
    static func run(
        _ name: String, _ arguments: [String], environment: [String: String], log: String
    ) async throws -> String {
        let process = try await SupervisedProcess(name, arguments, environment: environment, log: log)
        var output = ""
        let status = await withTaskCancellationHandler {
            for await line in process.output.lines { output += line + "\n" }
            return await process.waitForEnd()
        } onCancel: {
            process.shell.lifeline.sever()
        }
        guard status == 0 else { throw ProcessFailure(name: name, status: status, log: log) }
        return output
    }
}

/// A program did not do what it was started for.
struct ProcessFailure: Error, CustomStringConvertible {
    let description: String

    /// - Parameter log: The path of its log. Its end is read now: the file may be gone when somebody asks.
    init(name: String, status: Int32, log: String) {
        let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
        description = "\(name) ended with status \(status). The end of its log:\n\(text.suffix(2000))"
    }
}
