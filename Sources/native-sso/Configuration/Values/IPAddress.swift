import Glibc

/// A numeric IPv4 or IPv6 address, as `inet_pton` reads it: no names, no zones, no short forms of IPv4.
struct IPAddress: Sendable, Hashable, CustomStringConvertible {
    enum Family: Sendable { case v4, v6 }

    let family: Family
    /// 4 or 16, in network order.
    let octets: [UInt8]

    /// - Parameter text: Without brackets.
    init?(_ text: String) {
        if let octets = Self.octets(text, AF_INET, count: 4) {
            family = .v4
            self.octets = octets
        } else if let octets = Self.octets(text, AF_INET6, count: 16) {
            family = .v6
            self.octets = octets
        } else {
            return nil
        }
    }

    /// 127.0.0.0/8 (RFC 1122 §3.2.1.3) or `::1` (RFC 4291 §2.5.3). An IPv4 address written as IPv6 is not taken for one.
    var isLoopback: Bool {
        switch family {
        case .v4: octets.first == 127
        case .v6: octets.dropLast().allSatisfy { $0 == 0 } && octets.last == 1
        }
    }

    /// `0.0.0.0` or `::`, which a socket understands as every address of the machine.
    var isUnspecified: Bool { octets.allSatisfy { $0 == 0 } }

    /// The canonical form, without brackets.
    var description: String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let result = inet_ntop(family == .v4 ? AF_INET : AF_INET6, octets, &text, socklen_t(text.count))
        guard result != nil else { return "" }
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    private static func octets(_ text: String, _ family: Int32, count: Int) -> [UInt8]? {
        guard !text.utf8.contains(0) else { return nil }
        var octets = [UInt8](repeating: 0, count: count)
        return inet_pton(family, text, &octets) == 1 ? octets : nil
    }
}
