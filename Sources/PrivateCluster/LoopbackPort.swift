import Foundation
import Glibc

/// Ports for servers that come and go.
public enum LoopbackPort {
    /// A port that is free now, and that no outgoing connection is given while the server is down: one below the range
    /// from which the kernel takes those.
    public static func free() throws -> UInt16 {
        let range = (try? String(contentsOfFile: "/proc/sys/net/ipv4/ip_local_port_range", encoding: .utf8)) ?? ""
        let first = range.split(whereSeparator: \.isWhitespace).first.flatMap { UInt16($0) } ?? 32_768
        for _ in 0..<100 {
            let port = first > 12_000 ? UInt16.random(in: 10_000..<first) : 0
            if let found = try bound(port) { return found }
        }
        throw PrivateClusterError.system(call: "bind", errno: EADDRINUSE)
    }

    /// The port that was bound, for a moment; `nil` if it is taken.
    private static func bound(_ port: UInt16) throws -> UInt16? {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let failure: Int32 = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0 ? 0 : errno
            }
        }
        if failure == EADDRINUSE { return nil }
        guard failure == 0 else { throw PrivateClusterError.system(call: "bind", errno: failure) }
        return UInt16(bigEndian: address.sin_port)
    }
}
