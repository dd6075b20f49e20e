import Glibc
import HTTPServer

/// The socket that systemd opened for the service: sd_listen_fds(3).
enum InheritedSocket {
    /// The number of the first socket. systemd never uses another one.
    static let descriptor: CInt = 3

    /// Throws unless systemd opened exactly one listening socket for this process.
    ///
    /// - Parameters:
    ///   - environment: `LISTEN_PID` names the process that the sockets are for, `LISTEN_FDS` counts them.
    ///   - onLoopback: Refuse a socket that other machines can reach.
    static func check(environment: [String: String], onLoopback: Bool) throws(ValueDefect) {
        guard environment["LISTEN_PID"] == String(getpid()), let count = environment["LISTEN_FDS"].flatMap({ Int($0) }),
            count > 0
        else {
            throw ValueDefect(
                "systemd opened no socket for this process; run systemctl enable --now native-sso.socket, and start the "
                    + "broker with systemctl start native-sso")
        }
        guard count == 1 else {
            throw ValueDefect("systemd opened \(count) sockets; write one ListenStream= in native-sso.socket")
        }
        var (isListening, length): (CInt, socklen_t) = (0, socklen_t(MemoryLayout<CInt>.size))
        guard getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &isListening, &length) == 0, isListening == 1 else {
            throw ValueDefect(
                "what systemd opened is not a listening socket; write ListenStream= and Accept=no in native-sso.socket")
        }
        guard !onLoopback || isLocal(descriptor) else {
            throw ValueDefect(
                "with development: true every listener must be on loopback; write ListenStream=127.0.0.1:8080 in "
                    + "native-sso.socket")
        }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    }

    private static func isLocal(_ socket: CInt) -> Bool {
        var (address, length) = (sockaddr_storage(), socklen_t(MemoryLayout<sockaddr_storage>.size))
        var host = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        let result = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { name in
                guard getsockname(socket, name, &length) == 0 else { return EAI_FAIL }
                return getnameinfo(name, length, &host, socklen_t(host.count), nil, 0, NI_NUMERICHOST)
            }
        }
        guard result == 0 else { return false }
        if address.ss_family == sa_family_t(AF_UNIX) { return true }
        let text = String(decoding: host.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        return NetworkAddress(text)?.isLoopback == true
    }
}
