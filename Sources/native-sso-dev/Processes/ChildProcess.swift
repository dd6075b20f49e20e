import Foundation

/// A process that was started here and is waited for here.
///
/// Not Foundation's: a child of that inherits the blocked signals of whatever thread started it, and a shell that never
/// hears of its children's end waits for ever.
struct ChildProcess: Sendable {
    private let pid: pid_t

    /// Starts a program in a session of its own, so that an interrupt at the terminal reaches this process alone, which ends
    /// its children in order.
    ///
    /// - Parameter descriptors: What becomes 0, 1 and 2. The child gets no other: all that are opened here are close-on-exec.
    init(_ arguments: [String], environment: [String: String], descriptors: [Int32]) throws {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (target, source) in descriptors.enumerated() {
            posix_spawn_file_actions_adddup2(&actions, source, Int32(target))
        }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        var all = sigset_t()
        sigfillset(&all)
        posix_spawnattr_setsigdefault(&attributes, &all)
        let newSession: Int32 = 0x80  // POSIX_SPAWN_SETSID, which the header hides
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | newSession))

        let argv = arguments.map { strdup($0) } + [nil]
        let envp = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for pointer in argv + envp { free(pointer) } }
        var pid: pid_t = 0
        let failure = posix_spawn(&pid, arguments[0], &actions, &attributes, argv, envp)
        guard failure == 0 else { throw POSIXError(POSIXError.Code(rawValue: failure) ?? .EINVAL) }
        self.pid = pid
    }

    /// Blocks until the process has ended. The exit status, or 128 + the signal that ended it.
    func wait() -> Int32 {
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0 { guard errno == EINTR else { return -1 } }
        let signal = status & 0x7f
        return signal == 0 ? (status >> 8) & 0xff : 128 + signal
    }
}
