import ChildProcesses
import Foundation
import Synchronization

/// A shell that outlives this process for as long as it takes to clean up after it: its standard input is a ``Lifeline``.
struct Shell: Sendable {
    let lifeline: Lifeline
    private let child: ChildProcess

    /// - Parameters:
    ///   - name: What the shell calls itself, `$0`.
    ///   - arguments: `$1` and so on.
    ///   - output: Where it writes; closed here afterwards. nil for nowhere.
    ///   - errors: The path of a file, made if it is not there, appended to if it is. nil for nowhere.
    init(
        _ script: String, name: String, arguments: [String], environment: [String: String] = ["PATH": "/usr/bin:/bin"],
        output: FileHandle? = nil, errors: String? = nil
    ) throws {
        let input = try PrivateChannel()
        let errors = try errors.map { try FileHandle(appendingTo: $0) }
        lifeline = Lifeline(input.writing)
        child = try ChildProcess(
            ["/bin/sh", "-c", script, name] + arguments, environment: environment, inOwnSession: true,
            input: input.reading, output: output, errors: errors)
        try input.reading.close()
        try output?.close()
    }

    /// The exit status, or 128 + a signal, once the shell has ended.
    func waitForEnd() async -> Int32 { await child.exitStatus }

    /// Severs the lifeline and waits for the end; nil where the shell had to be killed, which took longer than that.
    func end(within limit: Duration) async -> Int32? {
        lifeline.sever()
        let child = child
        let status = try? await onOwnThread { child.wait(within: limit) }
        guard let status else {
            child.signal(SIGKILL)
            return nil
        }
        return status
    }
}

/// The writing end of a pipe that nobody writes to. Its end is the message.
final class Lifeline: Sendable {
    private let handle: Mutex<FileHandle?>

    /// - Parameter handle: The end of a ``PrivateChannel``: no child may hold it open.
    init(_ handle: FileHandle) {
        self.handle = Mutex(handle)
    }

    func sever() {
        handle.withLock { handle in
            try? handle?.close()
            handle = nil
        }
    }
}
