import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NativeSSOClient

/// The client library's requests over async-http-client.
struct ClientTransport: HTTPTransport {
    /// Sees each request with its answer.
    let watch: @Sendable (TransportRequest, TransportResponse) -> Void

    func post(_ request: TransportRequest) async throws -> TransportResponse {
        var outgoing = HTTPClientRequest(url: request.address)
        outgoing.method = .POST
        outgoing.headers.add(name: "content-type", value: "application/x-www-form-urlencoded")
        outgoing.headers.add(name: "accept", value: "application/json")
        if let authorization = request.authorization {
            outgoing.headers.add(name: "authorization", value: authorization)
        }
        if let proof = request.dpop { outgoing.headers.add(name: "dpop", value: proof) }
        outgoing.body = .bytes(ByteBuffer(bytes: request.body))
        let answer = try await PlainHTTP.client.execute(outgoing, timeout: .seconds(10))
        let body = try await answer.body.collect(upTo: 256 << 10)
        let response = TransportResponse(
            status: Int(answer.status.code), retryAfter: answer.headers.first(name: "retry-after"),
            requestID: answer.headers.first(name: "x-request-id"), dpopNonce: answer.headers.first(name: "dpop-nonce"),
            body: Array(body.readableBytesView))
        watch(request, response)
        return response
    }
}
