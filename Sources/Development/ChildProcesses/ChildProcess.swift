import Dispatch
package import Foundation
import Glibc

/// A process that was started here and is waited for here.
///
/// Not Foundation's: a child of that inherits the blocked signals of whatever thread started it, and a shell that never
/// hears of its children's end, or a program that never hears its alarm, waits for ever.
package final class ChildProcess: Sendable {
    package let pid: Int32
    private let isInOwnSession: Bool
    private let end = ProcessEnd()

    /// An environment with a path and a locale only, for children that must not see the operator's settings.
    package static let bareEnvironment = ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C"]

    /// Starts a program, with no signal blocked and none ignored. It gets the three files and no other; `nil` is
    /// `/dev/null`.
    ///
    /// - Parameters:
    ///   - arguments: The program's path, and what it is told.
    ///   - environment: All that it sees of one.
    ///   - inOwnSession: An interrupt at the terminal then reaches its owner alone.
    package init(
        _ arguments: [String], environment: [String: String], inOwnSession: Bool, input: FileHandle? = nil,
        output: FileHandle? = nil, errors: FileHandle? = nil
    ) throws(SystemCallFailure) {
        isInOwnSession = inOwnSession
        pid = try Self.spawn(arguments, environment, inOwnSession, [input, output, errors].map { $0?.fileDescriptor })
        // One thread per child reaps it at once. Otherwise, a wait for any child of this process could return it.
        Thread.detachNewThread { [end, pid] in end.await(pid) }
    }

    package var isRunning: Bool { end.status == nil }

    /// Blocks until the process ends. Returns the exit status, 128 + the signal, or -1 if other code reaped it.
    package func wait() -> Int32 { end.wait() }

    /// Blocks for at most so long. `nil`: it has not ended by then.
    package func wait(within limit: Duration) -> Int32? { end.wait(within: limit) }

    /// What ``wait()`` gives, without a thread that blocks.
    package var exitStatus: Int32 { get async { await end.reached() } }

    /// Never reaches another process: as long as it is not known to have ended, its number is its own.
    package func signal(_ signal: Int32) { end.whileRunning { Glibc.kill(pid, signal) } }

    package func terminate() { signal(SIGTERM) }

    /// Kills it, with all that it started if it has a session of its own, and blocks until it has ended: at most ten
    /// seconds, for what the kernel itself does not let go of.
    package func kill() {
        end.whileRunning { Glibc.kill(isInOwnSession ? -pid : pid, SIGKILL) }
        _ = wait(within: .seconds(10))
    }

    // MARK: posix_spawn(3)

    /// `POSIX_SPAWN_SETSID`, which the importer does not show.
    private static let ownSession: Int16 = 0x80

    private static func spawn(
        _ arguments: [String], _ environment: [String: String], _ inOwnSession: Bool, _ descriptors: [Int32?]
    ) throws(SystemCallFailure) -> Int32 {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        var raised: [Int32] = []
        defer { for descriptor in raised { close(descriptor) } }
        for (target, descriptor) in descriptors.enumerated() {
            guard var source = descriptor else {
                posix_spawn_file_actions_addopen(&actions, Int32(target), "/dev/null", O_RDWR, 0)
                continue
            }
            if source < 3 {  // it would be overwritten before its turn, or stay close-on-exec in its own place
                source = fcntl(source, F_DUPFD_CLOEXEC, 3)
                guard source >= 0 else { throw SystemCallFailure(call: "fcntl", errno: errno) }
                raised.append(source)
            }
            posix_spawn_file_actions_adddup2(&actions, source, Int32(target))
        }
        let inherited = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        for descriptor in inherited.compactMap({ Int32($0) }) where descriptor > 2 {
            posix_spawn_file_actions_addclose(&actions, descriptor)
        }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        let flags = Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF) | (inOwnSession ? ownSession : 0)
        posix_spawnattr_setflags(&attributes, flags)

        let argv = arguments.map { strdup($0) } + [nil]
        let envp = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for pointer in argv + envp { free(pointer) } }
        var pid: pid_t = 0
        let failure = posix_spawn(&pid, arguments.first ?? "", &actions, &attributes, argv, envp)
        guard failure == 0 else { throw SystemCallFailure(call: "posix_spawn", errno: failure) }
        return pid
    }
}
