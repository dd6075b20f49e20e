@testable import BrokerHTTP
@testable import HTTPServer
import NIOCore
import OAuthWire

extension Readers {
    /// One reading of one stream: the requests, and whether a fault is their end, do not depend on how the network cut it.
    ///
    /// Which fault it is may: two readers look in turn at each piece, so that the first can find a later one before the
    /// second finds an earlier one.
    static func http(_ octets: [UInt8]) throws -> Bool {
        let whole = try arrivals(of: [octets[...]])
        let cut = octets.reduce(0) { ($0 &* 31 &+ Int($1)) & 0xFFFF } % (octets.count + 1)
        try hold(try arrivals(of: [octets[..<cut], octets[cut...]]) == whole, "cut at \(cut) it is another stream")
        let holdsRequest = whole.contains { $0.contains(" ") }
        guard octets.count <= 256 else { return holdsRequest }
        try hold(
            try arrivals(of: octets.indices.map { octets[$0...$0] }) == whole, "octet by octet it is another stream")
        return holdsRequest
    }

    private static func arrivals(of pieces: [ArraySlice<UInt8>]) throws -> [String] {
        let responder = EchoResponder()
        let peer = try EmbeddedPeer(responder)
        defer { peer.close() }
        for piece in pieces { peer.receive(piece) }
        return responder.arrivals
    }

    static func text(of arrival: Arrival) -> String {
        switch arrival {
        case .request(let request):
            """
            \(request.method) \(request.path) \(request.hasQuery) \(request.headers) \
            \(Array(request.body.readableBytesView)) \(form(of: request))
            """
        case .fault: "fault"
        }
    }

    private static func form(of request: ReceivedRequest) -> String {
        do throws(Refusal) {
            return try request.tokenForm()["client_id"] ?? "nobody"
        } catch {
            return "\(error)"
        }
    }
}
