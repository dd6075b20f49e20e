import ChildProcesses
import Foundation

/// A small shell between the owner and the server. It outlives the owner until the server has stopped.
///
/// There are two channels. The shell reads the *lifeline*: its end means that the owner is gone, however it died.
/// Only the server's processes hold the *pulse* open: its end means that all of them are gone.
/// A dropped cluster is an abandoned one.
final class Supervisor: Sendable {
    private let shell: ChildProcess
    private let lifeline: FileHandle
    private let pulse: FileHandle

    /// $1: `remove` to delete the directory after an orphaned server; $2: that directory; the rest starts the server.
    ///
    /// Asked to stop fast, the server is stopped at once after 5 s, and killed after 25 more.
    private static let script =
        ShellDeadline.function + """

            fate=$1 directory=$2
            shift 2
            "$@" </dev/null &
            server=$!
            exec >/dev/null
            word=orphaned
            read -r word || word=orphaned
            kill -CONT $server 2>/dev/null
            kill -INT $server 2>/dev/null
            end_within 5 QUIT $server 25 KILL $server &
            timer=$!
            wait $server
            kill $timer 2>/dev/null
            wait $timer
            if [ "$word" = orphaned ] && [ "$fate" = remove ]; then rm -rf "$directory"; fi
            """

    init(
        _ programs: ServerPrograms, server: [String], directory: String, log: String, isEphemeral: Bool
    ) throws(PrivateClusterError) {
        let fate = isEphemeral ? "remove" : "keep"
        let arguments =
            programs.asServer(["/bin/sh", "-c", Self.script, "supervisor", fate, directory]) + server
        (shell, lifeline, pulse) = try PrivateClusterError.mapping { () throws(SystemCallFailure) in
            let (down, up) = (try PrivateChannel(), try PrivateChannel())
            let journal = try FileHandle(appendingTo: log)
            let shell = try ChildProcess(
                arguments, environment: ChildProcess.bareEnvironment, inOwnSession: true, input: down.reading,
                output: up.writing, errors: journal)
            return (shell, down.writing, up.reading)
        }
    }

    /// Waits at most `milliseconds` for the end of the server. True if no process of it is left.
    func isGone(within milliseconds: Int32) -> Bool {
        var watched = pollfd(fd: pulse.fileDescriptor, events: Int16(POLLIN), revents: 0)
        return poll(&watched, 1, milliseconds) > 0
    }

    /// Stops the server and blocks until it and the shell are gone. Call once.
    func stop() throws(PrivateClusterError) {
        try? lifeline.send("stop\n")  // a shell that has gone needs no word
        shutdown(lifeline.fileDescriptor, Int32(SHUT_RDWR))
        guard shell.wait(within: .seconds(60)) != nil else {
            shell.kill()
            throw .serverDidNotStop("its supervisor did not end within 60 s and was killed")
        }
        guard isGone(within: 30_000) else {
            throw .serverDidNotStop("its main process has ended, and others of it were still there 30 s later")
        }
    }
}
