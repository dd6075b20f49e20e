public import AsyncHTTPClient
public import NativeSSOClient
import NIOCore
import NIOHTTP1

/// Sends the requests of `NativeSSOClient` by async-http-client: for programs on Linux.
///
/// It keeps no cookies and no cache, and follows no redirects.
public struct AsyncHTTPClientTransport: HTTPTransport {
    /// Of the process, and never shut down.
    private static let common = {
        var configuration = HTTPClient.Configuration()
        configuration.redirectConfiguration = .disallow
        return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }()

    private let client: HTTPClient
    private let timeout: TimeAmount
    private let largest: Int

    /// - Parameters:
    ///   - client: nil: one of the process. A client of your own must not follow redirects
    ///     (`redirectConfiguration = .disallow`).
    ///   - timeout: How long to wait for a whole response.
    ///   - largest: The most octets of a body.
    public init(_ client: HTTPClient? = nil, timeout: Duration = .seconds(15), largest: Int = 16 << 20) {
        self.client = client ?? Self.common
        self.timeout = TimeAmount(timeout)
        self.largest = largest
    }

    /// Sends one request.
    public func send(_ request: TransportRequest) async throws -> TransportResponse {
        var outgoing = HTTPClientRequest(url: request.address)
        outgoing.method = HTTPMethod(rawValue: request.method)
        for field in request.fields { outgoing.headers.add(name: field.name, value: field.value) }
        if !request.body.isEmpty { outgoing.body = .bytes(ByteBuffer(bytes: request.body)) }
        let response = try await client.execute(outgoing, timeout: timeout)
        let body = try await response.body.collect(upTo: largest)
        return TransportResponse(
            status: Int(response.status.code), fields: response.headers.map { ($0.name, $0.value) },
            body: Array(body.readableBytesView))
    }
}
