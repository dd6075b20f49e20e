import HTTPServer

/// The address of a listener: a numeric address and a port, such as `127.0.0.1:8080` or `[::1]:8080`. It is never a name,
/// so a resolver cannot change the address.
struct ListenAddress: Sendable, Hashable, CustomStringConvertible {
    let address: NetworkAddress
    /// 0 asks the system for a free port.
    let port: Int

    /// Numeric, without brackets.
    var host: String { address.description }
    var isLoopback: Bool { address.isLoopback }

    init(_ text: String) throws(ValueDefect) {
        guard let parts = Self.split(text), let address = NetworkAddress(parts.host),
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

extension NetworkAddress {
    fileprivate func covers(_ other: NetworkAddress) -> Bool {
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
    /// With the final NUL. NIO accepts no longer path on any system; Linux would take 108 octets.
    private static let maximumPath = 104

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
