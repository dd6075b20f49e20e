import NIOHTTP1

/// The other end of a connection, and whether it may speak for others.
struct RequestOrigin: Sendable {
    /// `nil` for a Unix socket.
    let peer: NetworkAddress?
    let proxies: TrustedProxies

    func client(_ headers: HTTPHeaders) -> ClientAddress? { proxies.client(of: peer, headers) }
}
