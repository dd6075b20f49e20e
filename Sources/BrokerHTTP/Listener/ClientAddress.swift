/// Whom a request comes from, as far as the network tells: what limits for each caller are counted by.
///
/// An IPv4 address, or the /64 of an IPv6 address: a subscriber has all addresses of a /64 (RFC 6177), and would be as
/// many callers. Equal for every way to write one address.
public struct ClientAddress: Sendable, Hashable, CustomStringConvertible {
    let prefix: NetworkAddress

    public init(_ address: NetworkAddress) {
        prefix = address.family == .v4 ? address : address.prefix(64)
    }

    public var description: String { prefix.family == .v4 ? "\(prefix)" : "\(prefix)/64" }

    /// The network, too wide to tell one person: what a log may keep. The first 24 bits of IPv4, 48 of IPv6.
    public var network: String {
        prefix.family == .v4 ? "\(prefix.prefix(24))/24" : "\(prefix.prefix(48))/48"
    }
}
