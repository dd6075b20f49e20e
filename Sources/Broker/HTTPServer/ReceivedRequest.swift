package import NIOCore
package import NIOHTTP1

/// A request as it left the wire, whole.
package struct ReceivedRequest: Sendable {
    package let method: HTTPMethod
    /// Everything before the first `?` of the target.
    package let path: Substring
    package let hasQuery: Bool
    package let headers: HTTPHeaders
    package let body: ByteBuffer
    /// `nil` without a body.
    private let memory: BufferedBody?
    /// Whom limits count it for; `nil` where nobody who is believed says: see ``TrustedProxies``.
    package let client: ClientAddress?

    init(head: HTTPRequestHead, body: ByteBuffer, memory: BufferedBody? = nil, client: ClientAddress?) {
        self.client = client
        self.memory = memory
        method = head.method
        headers = head.headers
        self.body = body
        let query = head.uri.utf8.firstIndex(of: UInt8(ascii: "?"))
        path = head.uri[..<(query ?? head.uri.endIndex)]
        hasQuery = query != nil
    }

    /// By octets: `==` would also accept what only looks the same.
    package func isFor(_ path: String) -> Bool { self.path.utf8.elementsEqual(path.utf8) }
}

/// What a connection delivers.
package enum Arrival: Sendable {
    case request(ReceivedRequest)
    /// Nothing follows it.
    /// - Parameter from: As ``ReceivedRequest/client``; whose connection it is, where the headers did not arrive.
    case fault(HTTPFault, from: ClientAddress?)
}

/// The other end of a connection, and whether it may speak for others.
struct RequestOrigin: Sendable {
    /// `nil` for a Unix socket.
    let peer: NetworkAddress?
    let proxies: TrustedProxies

    func client(_ headers: HTTPHeaders) -> ClientAddress? { proxies.client(of: peer, headers) }
}
