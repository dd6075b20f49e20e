import CProcess
import Glibc

/// A Unix stream socket, closed at the end of its life.
final class SignerSocket: Sendable {
    let number: Int32

    static let receiving = SO_RCVTIMEO
    static let sending = SO_SNDTIMEO

    init(_ number: Int32) { self.number = number }

    deinit { _ = close(number) }

    /// - Parameter patience: How long the greeting may take.
    static func connect(to path: String, patience: Int) throws(SignerDefect) -> SignerSocket {
        let socket = try open(path)
        guard unsafe withAddress(of: path, { unsafe Glibc.connect(socket.number, $0, $1) }) == 0 else {
            throw .lastSystemError(path)
        }
        socket.limit(SO_RCVTIMEO, seconds: patience)
        socket.limit(SO_SNDTIMEO, seconds: patience)
        return socket
    }

    /// Listens at `path`, which must not exist, or be left from a signer that ended.
    static func listen(at path: String) throws(SignerDefect) -> SignerSocket {
        // Two signers that start at once look and bind one after the other: the second one finds the first. Only the
        // signer's account may open the file: a broker that holds the lock would keep the signer from starting.
        let lock = unsafe Glibc.open(path + ".lock", O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard lock >= 0 else { throw .lastSystemError(path + ".lock") }
        defer { _ = close(lock) }
        while flock(lock, LOCK_EX) != 0 { guard errno == EINTR else { throw .lastSystemError(path) } }
        if (try? connect(to: path, patience: 1)) != nil {
            throw .socket(path: path, reason: "another signer serves it")
        }
        var status = stat()
        if unsafe lstat(path, &status) == 0 {
            guard status.st_mode & S_IFMT == S_IFSOCK else { throw .socket(path: path, reason: "it is not a socket") }
            unsafe unlink(path)
        }
        let socket = try open(path)
        // The peer's account is checked. The directory's mode and this one only keep strangers from trying.
        guard unsafe withAddress(of: path, { unsafe bind(socket.number, $0, $1) }) == 0,
            unsafe chmod(path, 0o660) == 0, Glibc.listen(socket.number, 64) == 0
        else { throw .lastSystemError(path) }
        return socket
    }

    private static func open(_ path: String) throws(SignerDefect) -> SignerSocket {
        guard (1...107).contains(path.utf8.count) else {
            throw .socket(path: path, reason: "the path of a socket has at most 107 octets")
        }
        let number = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard number >= 0 else { throw .lastSystemError(path) }
        return SignerSocket(number)
    }

    private static func withAddress<Result>(
        of path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) -> Result {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path.utf8.prefix(107)) }
        return unsafe withUnsafePointer(to: &address) {
            unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }

    /// `nil`: the listening socket was shut down.
    func accept() -> SignerSocket? {
        while true {
            let other = Glibc.accept(number, nil, nil)
            if other >= 0 {
                _ = fcntl(other, F_SETFD, FD_CLOEXEC)
                return SignerSocket(other)
            }
            switch errno {
            case EINTR, ECONNABORTED: continue
            case EMFILE, ENFILE, ENOBUFS, ENOMEM: usleep(100_000)
            default: return nil
            }
        }
    }

    /// The account at the other end; `nil` if the system does not say.
    var peer: UInt32? {
        var user: UInt32 = 0
        return unsafe cprocess_peer_user(number, &user) == 0 ? user : nil
    }

    /// 0: no limit.
    func limit(_ option: Int32, seconds: Int) {
        var time = timeval(tv_sec: seconds, tv_usec: 0)
        _ = unsafe setsockopt(number, SOL_SOCKET, option, &time, socklen_t(MemoryLayout<timeval>.size))
    }

    func end() { _ = shutdown(number, Int32(SHUT_RDWR)) }

    /// Whether more arrived; `false`: the connection ended, or the time is over.
    func read(into frames: inout FrameReader, _ buffer: UnsafeMutableRawBufferPointer) -> Bool {
        while true {
            let count = unsafe recv(number, buffer.baseAddress, buffer.count, 0)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            unsafe frames.append(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            return true
        }
    }

    /// Whether the connection took all octets within the limit of time.
    func write(_ octets: [UInt8], from start: Int = 0) -> Bool {
        send(octets, from: start, Int32(MSG_NOSIGNAL)) == octets.count
    }

    /// How many octets the connection took without a wait.
    func writeNow(_ octets: [UInt8]) -> Int { send(octets, from: 0, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)) }

    private func send(_ octets: [UInt8], from start: Int, _ flags: Int32) -> Int {
        var sent = start
        while sent < octets.count {
            let count = unsafe octets.withUnsafeBytes {
                unsafe Glibc.send(number, $0.baseAddress?.advanced(by: sent), $0.count - sent, flags)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            sent += count
        }
        return sent
    }
}

extension SignerDefect {
    fileprivate static func lastSystemError(_ path: String) -> SignerDefect {
        let reason: String
        switch KeyFileDefect.lastSystemError("socket") {
        case .missing: reason = "there is no such socket"
        case .notDirectory: reason = "a part of the path is not a directory"
        case .system(_, _, let message): reason = message
        default: reason = "it cannot be used"
        }
        return .socket(path: path, reason: reason)
    }
}
