package import NIOCore
package import NIOHTTP1

/// A complete request, as it was received.
package struct ReceivedRequest: Sendable {
    package let method: HTTPMethod
    /// Everything before the first `?` of the target.
    package let path: Substring
    package let hasQuery: Bool
    package let headers: HTTPHeaders
    package let body: ByteBuffer
    private let memory: BufferedRequest
    /// The sender, for limits. `nil` over a Unix socket if no trusted proxy names an address: see ``TrustedProxies``.
    package let client: ClientAddress?
    /// `nil` unless a trusted proxy sent one.
    package let trace: TraceContext?

    init(
        head: HTTPRequestHead, body: ByteBuffer, memory: BufferedRequest, client: ClientAddress?, trace: TraceContext?
    ) {
        self.client = client
        self.trace = trace
        self.memory = memory
        method = head.method
        headers = head.headers
        self.body = body
        let query = head.uri.utf8.firstIndex(of: UInt8(ascii: "?"))
        path = head.uri[..<(query ?? head.uri.endIndex)]
        hasQuery = query != nil
    }

    /// Compares octets: `==` also accepts canonically equivalent text.
    package func isFor(_ path: String) -> Bool { self.path.utf8.elementsEqual(path.utf8) }
}

/// A request or a fault on a connection.
package enum Arrival: Sendable {
    case request(ReceivedRequest)
    /// The last arrival of its connection or stream.
    /// - Parameter from: As ``ReceivedRequest/client``; without headers, the peer.
    case fault(HTTPFault, from: ClientAddress?)
}

/// The other end of a connection, and whether it may speak for others.
struct RequestOrigin: Sendable {
    /// `nil` for a Unix socket.
    let peer: NetworkAddress?
    let proxies: TrustedProxies

    func client(_ headers: HTTPHeaders) -> ClientAddress? { proxies.client(of: peer, headers) }

    func trace(_ headers: HTTPHeaders) -> TraceContext? { proxies.include(peer) ? TraceContext(headers) : nil }
}
