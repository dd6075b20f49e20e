import NIOHTTP1

/// Whose word on where a request comes from is believed. Nobody's, unless configured.
public struct TrustedProxies: Sendable {
    /// Which header those proxies write. The other one would be what a client made of it: proxies pass on what they do not
    /// know.
    public enum Header: String, Sendable, CaseIterable {
        case xForwardedFor = "x-forwarded-for"
        /// RFC 7239.
        case forwarded
    }

    public var blocks: [AddressBlock]
    /// Whoever may open the Unix socket.
    public var includesUnixSocket: Bool
    public var header: Header

    public static let none = TrustedProxies(blocks: [])

    public init(blocks: [AddressBlock], includesUnixSocket: Bool = false, header: Header = .xForwardedFor) {
        self.blocks = blocks
        self.includesUnixSocket = includesUnixSocket
        self.header = header
    }

    /// - Parameter peer: The other end of the connection; `nil` for a Unix socket.
    func include(_ peer: NetworkAddress?) -> Bool {
        guard let peer else { return includesUnixSocket }
        return blocks.contains { $0.contains(peer) }
    }

    /// The last address in the chain that is no trusted proxy's. What stands before it is hearsay.
    ///
    /// - Returns: `nil` where nobody who is believed says it: over a Unix socket. ``ClientAddress/unreadable`` if a proxy names
    ///   its client in a way that is no address.
    func client(of peer: NetworkAddress?, _ headers: HTTPHeaders) -> ClientAddress? {
        guard include(peer) else { return peer.map(ClientAddress.init) }
        var nearest = peer
        for node in nodes(headers).reversed() {
            guard let address = ForwardedNode.address(node) else { return .unreadable }
            guard include(address) else { return ClientAddress(address) }
            nearest = address
        }
        return nearest.map(ClientAddress.init)
    }

    /// From the first to the last; a field that comes twice is one list. RFC 9110 §5.3.
    private func nodes(_ headers: HTTPHeaders) -> [Substring] {
        switch header {
        case .xForwardedFor:
            // At octets: what a client wrote before the proxy's comma may be one character with it.
            headers["x-forwarded-for"].flatMap { field in
                field.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false).map { Substring($0) }
            }
        case .forwarded: headers["forwarded"].flatMap(ForwardedNode.forwardedFor)
        }
    }
}
