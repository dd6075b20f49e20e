import AsyncHTTPClient
import Foundation
import NativeSSOAsyncHTTPClient
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

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        let response = try await PlainHTTP.transport.send(request)
        watch(request, response)
        try observe(Exchange(from: from, request, response))
        return response
    }
}

/// The HTTP client of the apps. It follows no redirects, because a token endpoint never sends one.
enum PlainHTTP {
    static let client = HTTPClient(
        eventLoopGroup: HTTPClient.defaultEventLoopGroup,
        configuration: configuration)

    static let transport = AsyncHTTPClientTransport(client, timeout: .seconds(10), largest: 64 << 10)

    /// One request to a resource server.
    static func get(
        _ address: String, with token: Credential? = nil, from: String = "",
        observe: @Sendable (Exchange) throws -> Void = { _ in }
    ) async throws -> (status: Int, body: String) {
        var request = TransportRequest(address)
        if let token { request.fields.append(("Authorization", "Bearer \(token.secret)")) }
        let response = try await transport.send(request)
        try observe(Exchange(from: from, request, response))
        return (response.status, String(decoding: response.body, as: UTF8.self))
    }

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
