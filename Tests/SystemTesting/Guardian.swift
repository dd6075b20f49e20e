import ChildProcesses
import Foundation
import Synchronization

/// A shell that outlives this process just long enough to end what it started, however it died.
final class Guardian: Sendable {
    static let shared = Result { try Guardian() }

    private let orders: FileHandle

    private static let script = """
        trap '' INT TERM
        pids=
        while read -r order pid; do
            kept=
            for known in $pids; do [ "$known" = "$pid" ] || kept="$kept $known"; done
            pids=$kept
            [ "$order" = watch ] && pids="$pids $pid"
        done
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

    func watch(_ pid: Int32) throws { try orders.write(contentsOf: Data("watch \(pid)\n".utf8)) }

    func release(_ pid: Int32) throws { try orders.write(contentsOf: Data("release \(pid)\n".utf8)) }
}
