/// Whom a request comes from, as far as the network tells: what limits for each caller are counted by.
///
/// An IPv4 address, or the /64 of an IPv6 address: a subscriber has all addresses of a /64 (RFC 6177), and would be as
/// many callers. Equal for every way to write one address.
public struct ClientAddress: Sendable, Hashable, CustomStringConvertible {
    /// `nil`: ``unreadable``.
    let prefix: NetworkAddress?

    public init(_ address: NetworkAddress) {
        self.init(prefix: address.family == .v4 ? address : address.prefix(64))
    }

    private init(prefix: NetworkAddress?) { self.prefix = prefix }

    /// All those together whom a trusted proxy names in a way that is no address. One caller like any other, so that nobody
    /// goes uncounted by making himself unreadable.
    static let unreadable = ClientAddress(prefix: nil)

    public var description: String {
        guard let prefix else { return "unreadable" }
        return prefix.family == .v4 ? "\(prefix)" : "\(prefix)/64"
    }

    /// The network, too wide to tell one person: what a log may keep. The first 24 bits of IPv4, 48 of IPv6.
    public var network: String {
        guard let prefix else { return "unreadable" }
        return prefix.family == .v4 ? "\(prefix.prefix(24))/24" : "\(prefix.prefix(48))/48"
    }
}
