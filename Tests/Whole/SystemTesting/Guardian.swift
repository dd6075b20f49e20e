import ChildProcesses
import Foundation
import Synchronization

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
