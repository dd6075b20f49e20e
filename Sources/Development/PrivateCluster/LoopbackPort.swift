import Foundation
import Glibc

/// Ports for servers that come and go.
package enum LoopbackPort {
    /// A port that is free now, and that no outgoing connection is given while the server is down: one below the range
    /// from which the kernel takes those.
    package static func free() throws -> UInt16 { try bound(among: candidates()).port }

    /// So many different ones. Another process may take them before they are used; nothing better can be told to a program
    /// that must know its port in advance.
    package static func free(_ count: Int) throws -> [UInt16] {
        let candidates = candidates()
        // All are held until the last is found.
        let sockets = try (0..<count).map { _ in try bound(among: candidates) }
        return sockets.map(\.port)
    }

    package static func isFree(_ port: UInt16) throws -> Bool { try BoundSocket(port: port) != nil }

    private static func candidates() -> Range<UInt16> {
        let range = (try? String(contentsOfFile: "/proc/sys/net/ipv4/ip_local_port_range", encoding: .utf8)) ?? ""
        let first = range.split(whereSeparator: \.isWhitespace).first.flatMap { UInt16($0) } ?? 32_768
        return first > 12_000 ? 10_000..<first : 0..<1  // 0: whichever the kernel chooses
    }

    private static func bound(among candidates: Range<UInt16>) throws -> BoundSocket {
        for _ in 0..<100 {
            if let found = try BoundSocket(port: UInt16.random(in: candidates)) { return found }
        }
        throw PrivateClusterError.system(call: "bind", errno: EADDRINUSE)
    }
}

/// A port of 127.0.0.1 that is taken for as long as this lives.
private final class BoundSocket {
    let port: UInt16
    private let descriptor: Int32

    /// `nil` if it is taken already.
    init?(port: UInt16) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        let failure: Int32 = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0 ? 0 : errno
            }
        }
        self.port = UInt16(bigEndian: address.sin_port)
        if failure == EADDRINUSE { return nil }
        guard failure == 0 else { throw PrivateClusterError.system(call: "bind", errno: failure) }
    }

    deinit { close(descriptor) }
}
