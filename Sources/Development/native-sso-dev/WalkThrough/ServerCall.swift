import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import OAuthWire

/// One request to a resource server.
struct ServerCall {
    let address: String
    let token: Credential

    func run() async throws -> (status: Int, body: String) {
        var request = HTTPClientRequest(url: address)
        request.headers.add(name: "authorization", value: "Bearer \(token.secret)")
        let response = try await PlainHTTP.client.execute(request, timeout: .seconds(10))
        let body = try await response.body.collect(upTo: 64 << 10)
        return (Int(response.status.code), String(buffer: body))
    }
}
