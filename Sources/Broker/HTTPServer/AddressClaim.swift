import Glibc
import NIOCore
import Synchronization

/// The right to listen on the path of a Unix socket.
///
/// The file of a Unix socket outlives its listener, so a new listener must remove it first. Without a claim it could
/// take the path from a live listener, which would run on, unreachable and without an error.
///
/// A lock file beside the socket grants the right. The lock ends with its process, even in a crash. A process that
/// answers on the socket without the lock keeps the path, too.
final class UnixSocketClaim: Sendable {
    enum Refused: Error, CustomStringConvertible {
        case locked(String)
        case answered
        case noSocket
        case system(String, Int32)

        var description: String {
            switch self {
            case .locked(let file): "another process listens there, and holds \(file)"
            case .answered: "another process answers there"
            case .noSocket: "there is a file of that name that is no socket"
            case .system(let what, let code): "cannot \(what): \(String(cString: strerror(code)))"
            }
        }
    }

    private struct FileID: Equatable {
        let device: UInt64
        let inode: UInt64
    }

    private let path: String
    private let lock: Int32
    /// The socket that was bound; `nil` before, and where binding fails.
    private let bound = Mutex<FileID?>(nil)

    /// Removes the socket of an ended listener.
    init(path: String) throws(Refused) {
        self.path = path
        let file = path + ".lock"
        // The lock file is never removed: another process may have just locked it.
        lock = open(file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR)
        guard lock >= 0 else { throw .system("open \(file)", errno) }
        do throws(Refused) {
            guard flock(lock, LOCK_EX | LOCK_NB) == 0 else {
                throw errno == EWOULDBLOCK ? .locked(file) : .system("lock \(file)", errno)
            }
            try Self.removeRemains(of: path)
        } catch {
            close(lock)
            throw error
        }
    }

    /// For a listener that has just been bound to the path.
    func didBind() { bound.withLock { $0 = Self.fileID(of: path) } }

    /// For a listener that has ended or could not be bound. Removes only the socket that this listener bound: a process
    /// without the lock may have put its own there. (That one survives only if this listener was never bound, because
    /// NIO removes the file at the path of a socket that it closes.)
    func release() {
        if let socket = bound.withLock(\.self), Self.fileID(of: path) == socket { unlink(path) }
        close(lock)
    }

    private static func fileID(of path: String) -> FileID? {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        return FileID(
            device: UInt64(truncatingIfNeeded: status.st_dev), inode: UInt64(truncatingIfNeeded: status.st_ino))
    }

    private static func removeRemains(of path: String) throws(Refused) {
        var status = stat()
        guard lstat(path, &status) == 0 else {
            if errno == ENOENT { return }
            throw .system("look at \(path)", errno)
        }
        guard status.st_mode & S_IFMT == S_IFSOCK else { throw .noSocket }
        switch try connect(to: path) {
        case ECONNREFUSED: unlink(path)
        case ENOENT: return
        // EAGAIN: a listener is there, and its backlog is full.
        case 0, EAGAIN: throw .answered
        case let code: throw .system("connect to \(path)", code)
        }
    }

    /// - Returns: The error, or 0.
    private static func connect(to path: String) throws(Refused) -> Int32 {
        guard let address = try? SocketAddress(unixDomainSocketPath: path) else {
            throw .system("connect to \(path)", ENAMETOOLONG)
        }
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = socket(AF_UNIX, kind, 0)
        guard descriptor >= 0 else { throw .system("make a socket", errno) }
        defer { close(descriptor) }
        let result = address.withSockAddr { name, size in Glibc.connect(descriptor, name, socklen_t(size)) }
        return result == 0 ? 0 : errno
    }
}
