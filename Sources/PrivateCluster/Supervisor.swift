import Foundation
import Synchronization

/// The small shell between the owner and the server, which outlives the owner for as long as it takes to stop the server.
///
/// Two channels. The *lifeline* leads down: the shell reads it and learns from its end that the owner is gone, however
/// it died. The *pulse* leads up: only the server's own processes hold it open, so its end says that all of them are gone.
final class Supervisor: Sendable {
    private let shell: ChildProcess
    private let isReaped = Atomic(false)
    private let lifeline: Int32
    private let pulse: Int32

    /// $1: `remove` to delete the directory after an orphaned server; $2: that directory; the rest starts the server.
    private static let script = """
        fate=$1 directory=$2
        shift 2
        "$@" </dev/null &
        server=$!
        exec >/dev/null
        word=orphaned
        read -r word || word=orphaned
        kill -CONT $server 2>/dev/null
        kill -INT $server 2>/dev/null
        { trap 'kill $nap' TERM; sleep 5 & nap=$!; wait $nap && kill -QUIT $server 2>/dev/null; } &
        timer=$!
        wait $server
        kill $timer 2>/dev/null
        if [ "$word" = orphaned ] && [ "$fate" = remove ]; then rm -rf "$directory"; fi
        """

    init(_ programs: ServerPrograms, server: [String], directory: String, log: String, isEphemeral: Bool) throws {
        let down = try Self.channel()
        let up: (Int32, Int32)
        do { up = try Self.channel() } catch {
            close(down.0)
            close(down.1)
            throw error
        }
        let journal = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        (lifeline, pulse) = (down.0, up.0)
        defer { for end in [down.1, up.1, journal] where end >= 0 { close(end) } }
        do {
            shell = try ChildProcess.spawn(
                programs.asServer([
                    "/bin/sh", "-c", Self.script, "supervisor", isEphemeral ? "remove" : "keep", directory,
                ])
                    + server,
                input: down.1, output: up.1, errors: journal)
        } catch {
            close(lifeline)
            close(pulse)
            throw error
        }
    }

    /// A dropped cluster is an abandoned one: the end of the lifeline stops the server. The shell is waited for all the
    /// same: whoever waits for any child of this process would meet it.
    deinit {
        close(lifeline)
        close(pulse)
        guard !isReaped.load(ordering: .acquiring) else { return }
        Thread.detachNewThread { [shell] in _ = shell.wait() }
    }

    /// Waits at most `milliseconds` for the end of the server. True if no process of it is left.
    func isGone(within milliseconds: Int32) -> Bool {
        var watched = pollfd(fd: pulse, events: Int16(POLLIN), revents: 0)
        return poll(&watched, 1, milliseconds) > 0
    }

    /// Stops the server (fast, after 5 s immediate) and blocks until it and the shell are gone. Call once.
    func stop() {
        send(lifeline, "stop\n", 5, Int32(MSG_NOSIGNAL))
        shutdown(lifeline, Int32(SHUT_RDWR))
        _ = shell.wait()
        isReaped.store(true, ordering: .releasing)
        while !isGone(within: -1) {}
    }

    /// Two ends that no other child inherits. Sockets, because a write to a closed pipe is a signal.
    private static func channel() throws -> (Int32, Int32) {
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw PrivateClusterError.system(call: "socketpair", errno: errno)
        }
        return (ends[0], ends[1])
    }
}
