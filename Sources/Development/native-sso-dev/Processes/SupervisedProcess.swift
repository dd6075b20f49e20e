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
    private let log: String
    private let output: LineReader

    // The program's number comes before anything that the program writes, because it is the program that writes it. It cannot
    // belong to another process when the shell signals it: it has not been waited for.
    private static let script =
        ShellDeadline.function + """

            /bin/sh -c 'echo $$; exec "$@"' "$0" "$@" </dev/null &
            program=$!
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
        self.log = log
        guard let pid = try? await self.output.next(within: .seconds(30)).flatMap({ Int32($0) }) else {
            let status = await shell.end(within: .seconds(30))
            throw ProcessFailure(name: name, "was not started: its shell ended with \(status ?? -1)", log: log)
        }
        self.pid = pid
    }

    /// The next line that the program writes to standard output; nil when it has ended.
    func nextLine() async -> String? { await output.next() }

    /// Waits for the line by which the program says that it is ready; 30 seconds. Where it says anything else or nothing it
    /// is ended.
    func waitForReadiness(_ line: String) async throws {
        let said: String?
        do throws(LineReader.Silence) { said = try await output.next(within: .seconds(30)) } catch {
            throw try await ended(because: "did not get ready within \(error.limit)")
        }
        if said == line { return }
        throw try await ended(because: said.map { "did not say that it is ready, but \($0)" } ?? "has ended")
    }

    /// Ends it. The failure that it is then.
    func ended(because trouble: String) async throws -> ProcessFailure {
        ProcessFailure(name: name, "\(trouble) (status \(try await stop()))", log: log)
    }

    /// The exit status, or 128 + the signal that ended the program, once it has ended.
    func waitForEnd() async -> Int32 { await shell.waitForEnd() }

    /// Ends the program and waits until it has ended. Harmless where it has.
    ///
    /// - Returns: Its exit status, or 128 + the signal that ended it.
    /// - Throws: ``ProcessFailure`` when it has not ended half a minute later, which is long after it was killed.
    @discardableResult func stop() async throws -> Int32 {
        guard let status = await shell.end(within: .seconds(30)) else {
            throw ProcessFailure(name: name, "(pid \(pid)) did not end within 30 s of being told to", log: log)
        }
        return status
    }

    /// Runs a program to its end, for a minute at most; what it wrote to standard output. Cancelling the task ends the
    /// program.
    static func run(
        _ name: String, _ arguments: [String], environment: [String: String], log: String,
        within limit: Duration = .seconds(60)
    ) async throws -> String {
        let process = try await SupervisedProcess(name, arguments, environment: environment, log: log)
        let deadline = ContinuousClock.now + limit
        var output = ""
        do {
            // A task that is cancelled reads no more lines.
            while let line = try await process.output.next(within: ContinuousClock.now.duration(to: deadline)) {
                output += line + "\n"
            }
        } catch {
            throw try await process.ended(because: "did not end within \(limit)")
        }
        // All that it writes to was closed: it has ended, or is ended now.
        let status = try await process.stop()
        guard status == 0 else { throw ProcessFailure(name: name, "ended with status \(status)", log: log) }
        return output
    }
}

/// A program did not do what it was started for.
struct ProcessFailure: Error, CustomStringConvertible {
    let description: String

    /// - Parameter log: The path of its log. Its end is read now: the file may be gone when somebody asks.
    init(name: String, _ outcome: String, log: String) {
        let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
        description = "\(name) \(outcome). The end of its log:\n\(text.suffix(2000))"
    }
}
