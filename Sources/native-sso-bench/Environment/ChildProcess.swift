import Foundation

/// A process that was started here and is waited for here.
///
/// Not Foundation's: a child of that inherits the blocked signals of whatever thread started it, and `openssl speed` without
/// its alarm never ends.
final class ChildProcess {
    let pid: pid_t
    private var status: Int32?

    /// It sees nothing of this program's environment, so that no variable of the operator's changes what is measured.
    ///
    /// - Parameter descriptors: What becomes 0, 1 and 2. The child gets no other: all that are opened here are close-on-exec.
    init(_ arguments: [String], environment: [String: String] = [:], descriptors: [Int32]) throws {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (target, source) in descriptors.enumerated() {
            posix_spawn_file_actions_adddup2(&actions, source, Int32(target))
        }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

        let all = ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C"].merging(environment) { $1 }
        let argv = arguments.map { strdup($0) } + [nil]
        let envp = all.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for pointer in argv + envp { free(pointer) } }
        var pid: pid_t = 0
        let failure = posix_spawn(&pid, arguments[0], &actions, &attributes, argv, envp)
        guard failure == 0 else { throw POSIXError(POSIXError.Code(rawValue: failure) ?? .EINVAL) }
        self.pid = pid
    }

    /// Whether it has not ended yet.
    var isRunning: Bool {
        if status == nil { collect(WNOHANG) }
        return status == nil
    }

    /// Blocks until it has ended. The exit status, or 128 + the signal that ended it.
    func wait() -> Int32 {
        if status == nil { collect(0) }
        return status ?? -1
    }

    func terminate() { if isRunning { kill(pid, SIGTERM) } }

    private func collect(_ options: Int32) {
        var value: Int32 = 0
        var result: pid_t
        repeat { result = waitpid(pid, &value, options) } while result < 0 && errno == EINTR
        if result < 0 { status = -1 }
        if result == pid {
            let signal = value & 0x7f
            status = signal == 0 ? (value >> 8) & 0xff : 128 + signal
        }
    }
}

/// A one-way channel to or from a child. A pair of sockets, because those are made close-on-exec in one step.
struct Channel {
    let reading: FileHandle
    let writing: FileHandle

    init() throws {
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, type, 0, &ends) == 0 else {
            throw POSIXError(POSIXError.Code(rawValue: errno) ?? .EMFILE)
        }
        reading = FileHandle(fileDescriptor: ends[0], closeOnDealloc: true)
        writing = FileHandle(fileDescriptor: ends[1], closeOnDealloc: true)
    }
}

extension FileHandle {
    /// A file, made if it is not there, readable by its owner alone. `/dev/null` will do, too.
    convenience init(openingAt path: String) throws {
        let descriptor = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw ProcessStatus.Unreadable(path: path) }
        self.init(fileDescriptor: descriptor, closeOnDealloc: true)
    }
}
