import ChildProcesses
import Foundation

/// The directory that everything lies in. A shell removes it, and ends the brokers, when this program has ended, however it did.
final class Workplace: Sendable {
    let directory: String
    private let orders: FileHandle

    private static let script = """
        trap '' INT TERM
        \(ShellRegister.loop)
        if [ -n "$pids" ]; then kill -TERM $pids; sleep 2; kill -KILL $pids; fi 2>/dev/null
        for round in 1 2 3 4 5 6 7 8 9 10; do rm -rf "$1" && break; sleep 1; done
        """

    /// - Parameter parent: A directory on the disk that is to be measured.
    init(in parent: String?) throws {
        let files = FileManager.default
        let name = "native-sso-bench-" + String(UInt64.random(in: 0...UInt64.max), radix: 36)
        directory = "\(parent ?? files.temporaryDirectory.path)/\(name)"
        // PostgreSQL may run under another account, and has to get through to its own directory.
        try files.createDirectory(
            atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o711])
        let channel = try PrivateChannel()
        orders = channel.writing
        _ = try ChildProcess(
            ["/bin/sh", "-c", Self.script, "workplace", directory], environment: ChildProcess.bareEnvironment,
            inOwnSession: false, input: channel.reading)
    }

    /// Ends this process when this program is gone.
    func watch(_ pid: Int32) throws { try orders.send("watch \(pid)\n") }

    /// It has ended.
    func release(_ pid: Int32) throws { try orders.send("release \(pid)\n") }

    /// A directory below this one that only this user sees.
    func subdirectory(_ name: String) throws -> String {
        let path = "\(directory)/\(name)"
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        return path
    }
}
