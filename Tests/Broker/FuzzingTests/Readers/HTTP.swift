@testable import BrokerHTTP
@testable import HTTPServer
import NIOCore
import OAuthWire

extension Readers {
    /// One stream, read twice: the requests, and whether they end in a fault, do not depend on the network's pieces.
    ///
    /// The kind of fault may depend on them: two readers see each piece in turn, so the first can find a later fault
    /// before the second finds an earlier one.
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
