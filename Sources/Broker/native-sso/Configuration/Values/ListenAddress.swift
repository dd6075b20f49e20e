import Glibc

/// The address of a listener: a numeric address and a port, such as `127.0.0.1:8080` or `[::1]:8080`. It is never a name,
/// so a resolver cannot change the address.
struct ListenAddress: Sendable, Hashable, CustomStringConvertible {
    let address: IPAddress
    /// 0 asks the system for a free port.
    let port: Int

    /// Numeric, without brackets.
    var host: String { address.description }
    var isLoopback: Bool { address.isLoopback }

    init(_ text: String) throws(ValueDefect) {
        guard let parts = Self.split(text), let address = IPAddress(parts.host),
            (address.family == .v6) == parts.isBracketed
        else {
            throw ValueDefect("write a numeric address and a port, such as 127.0.0.1:8080 or [::1]:8080")
        }
        guard let port = try? IntegerText.parse(parts.port, in: 0...65_535), String(port) == parts.port else {
            throw ValueDefect("write a port from 0 to 65535 after the address")
        }
        self.address = address
        self.port = port
    }

    /// Whether the two cannot be bound at the same time. `[::]` takes the IPv4 addresses as well.
    func collides(with other: ListenAddress) -> Bool {
        guard port == other.port, port != 0 else { return false }
        if address == other.address { return true }
        return address.covers(other.address) || other.address.covers(address)
    }

    var description: String { address.family == .v6 ? "[\(host)]:\(port)" : "\(host):\(port)" }

    private static func split(_ text: String) -> (host: String, port: String, isBracketed: Bool)? {
        guard let colon = text.utf8.lastIndex(of: UInt8(ascii: ":")) else { return nil }
        let host = text[..<colon]
        let port = String(text[text.utf8.index(after: colon)...])
        guard host.hasPrefix("[") else { return (String(host), port, false) }
        guard host.hasSuffix("]") else { return nil }
        return (String(host.dropFirst().dropLast()), port, true)
    }
}

extension IPAddress {
    fileprivate func covers(_ other: IPAddress) -> Bool {
        isUnspecified && (family == .v6 || other.family == .v4)
    }
}

/// The address of the public listener: a numeric address and a port, `unix:` and the path of a socket, or `systemd`.
enum PublicAddress: Sendable, Hashable, CustomStringConvertible {
    case host(ListenAddress)
    case unixSocket(String)
    /// The socket that systemd opened: ``InheritedSocket``.
    case systemd

    private static let manager = "systemd"
    private static let scheme = "unix:"
    /// The size of `sun_path`, with the final NUL.
    private static let maximumPath = 108

    init(_ text: String) throws(ValueDefect) {
        if text.utf8.elementsEqual(Self.manager.utf8) {
            self = .systemd
            return
        }
        guard text.hasPrefix(Self.scheme) else {
            self = .host(try ListenAddress(text))
            return
        }
        let path = String(text.dropFirst(Self.scheme.count))
        guard path.hasPrefix("/"), !path.hasSuffix("/"), !path.utf8.contains(0), path.utf8.count < Self.maximumPath
        else {
            throw ValueDefect(
                "write unix: and an absolute path of less than \(Self.maximumPath) octets, such as unix:/run/native-sso/public"
            )
        }
        self = .unixSocket(path)
    }

    /// `nil` for a Unix socket, and for the socket of systemd.
    var internet: ListenAddress? { if case .host(let address) = self { address } else { nil } }

    var description: String {
        switch self {
        case .host(let address): address.description
        case .unixSocket(let path): Self.scheme + path
        case .systemd: Self.manager
        }
    }
}

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

    /// 127.0.0.0/8 (RFC 1122 §3.2.1.3) or `::1` (RFC 4291 §2.5.3). An IPv4 address written as IPv6 is not loopback
    /// here.
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
