import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import NativeSSOClient
import OAuthWire

/// The client library's requests over async-http-client.
struct ClientTransport: HTTPTransport {
    /// Sees each request with its answer.
    let watch: @Sendable (TransportRequest, TransportResponse) -> Void
    /// Who sends, for ``observe``.
    var from = ""
    /// Sees it as it went over the wire. What it throws, the app sees instead of the answer.
    var observe: @Sendable (Exchange) throws -> Void = { _ in }

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
        try observe(
            Exchange(
                from: from, method: "POST", address: request.address, fields: Array(outgoing.headers),
                form: request.body,
                status: response.status, answerFields: Array(answer.headers), answer: response.body))
        return response
    }
}

/// The HTTP client of the apps. It follows no redirects, because a token endpoint never sends one.
enum PlainHTTP {
    static let client = HTTPClient(
        eventLoopGroup: HTTPClient.defaultEventLoopGroup,
        configuration: configuration)

    private static var configuration: HTTPClient.Configuration {
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        // Everything is on this machine, or not there.
        configuration.connectionPool.retryConnectionEstablishment = false
        return configuration
    }
}

enum Expiry {
    /// Returns when the clock says that `expiry` (seconds since 1970) has passed.
    static func wait(until expiry: Int64) async throws {
        while case let now = Int64(time(nil)), now <= expiry {
            try await Task.sleep(for: .seconds(expiry - now + 1))
        }
    }
}

/// One request to a resource server.
struct ServerCall {
    let address: String
    /// nil: none is sent.
    let token: Credential?

    func run(
        from: String = "", observe: @Sendable (Exchange) throws -> Void = { _ in }
    ) async throws -> (status: Int, body: String) {
        var request = HTTPClientRequest(url: address)
        if let token { request.headers.add(name: "authorization", value: "Bearer \(token.secret)") }
        let response = try await PlainHTTP.client.execute(request, timeout: .seconds(10))
        let body = try await response.body.collect(upTo: 64 << 10)
        let status = Int(response.status.code)
        try observe(
            Exchange(
                from: from, address: address, fields: Array(request.headers), status: status,
                answerFields: Array(response.headers), answer: Array(body.readableBytesView)))
        return (status, String(buffer: body))
    }
}
