import FoundationEssentials

/// Where something of the identity provider may be fetched from: https, or, in development, http on this machine.
public struct ProviderURL: Sendable, Hashable, CustomStringConvertible {
    public let string: String
    /// Lower case; an IPv6 address in brackets.
    public let host: String

    /// nil for anything but an absolute https URL of printable ASCII with a host, without user information and fragment.
    ///
    /// - Parameter allowsLoopbackHTTP: Also accepts `http` where the host is `localhost`, `127.0.0.1` or `[::1]`: for
    ///   development, where whoever can listen on loopback owns the machine anyway.
    public init?(_ text: String, allowsLoopbackHTTP: Bool = false) {
        guard text.utf8.count <= 2048, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
            let parts = URLComponents(string: text), parts.user == nil, parts.password == nil, parts.fragment == nil,
            let scheme = parts.scheme?.lowercased(), let host = parts.encodedHost?.lowercased(), !host.isEmpty
        else { return nil }
        switch scheme {
        case "https": break
        case "http" where allowsLoopbackHTTP && ["localhost", "127.0.0.1", "[::1]"].contains(host): break
        default: return nil
        }
        string = text
        self.host = host
    }

    public var description: String { string }
}
