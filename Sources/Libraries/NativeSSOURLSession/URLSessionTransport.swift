public import NativeSSOClient

#if canImport(FoundationNetworking)
    import Foundation
    public import FoundationNetworking
#else
    public import Foundation
#endif

/// Sends the requests of `NativeSSOClient` by `URLSession`: for apps on Apple's systems.
///
/// It keeps no cookies and no cache, and follows no redirects.
public struct URLSessionTransport: HTTPTransport {
    /// Why there is no response.
    public enum Failure: Error, Sendable, Equatable {
        /// The address of the request is not a URL.
        case address
        /// The response is no HTTP response.
        case response
        /// The body is longer than the limit.
        case tooLong
    }

    private static let unfollowing = NoRedirects()
    private let session: URLSession
    private let largest: Int

    /// - Parameters:
    ///   - configuration: By default ephemeral: nothing of it is stored. Cookies and the cache are always off.
    ///   - timeout: How long to wait for data, and how long for a whole response.
    ///   - largest: The most octets of a body.
    public init(
        configuration: URLSessionConfiguration = .ephemeral, timeout: Duration = .seconds(15), largest: Int = 16 << 20
    ) {
        let seconds = TimeInterval(timeout.components.seconds)
        configuration.httpShouldSetCookies = false
        configuration.httpCookieAcceptPolicy = .never
        configuration.httpCookieStorage = nil
        configuration.urlCache = nil
        configuration.urlCredentialStorage = nil
        configuration.timeoutIntervalForRequest = seconds
        configuration.timeoutIntervalForResource = seconds
        session = URLSession(configuration: configuration, delegate: Self.unfollowing, delegateQueue: nil)
        self.largest = largest
    }

    /// Sends one request.
    public func send(_ request: TransportRequest) async throws -> TransportResponse {
        guard let url = URL(string: request.address) else { throw Failure.address }
        var outgoing = URLRequest(url: url)
        outgoing.httpMethod = request.method
        for field in request.fields { outgoing.addValue(field.value, forHTTPHeaderField: field.name) }
        if !request.body.isEmpty { outgoing.httpBody = Data(request.body) }
        let (data, response) = try await session.data(for: outgoing)
        guard let response = response as? HTTPURLResponse else { throw Failure.response }
        guard data.count <= largest else { throw Failure.tooLong }
        let fields = response.allHeaderFields.compactMap { name, value -> TransportField? in
            guard let name = name as? String, let value = value as? String else { return nil }
            return (name, value)
        }
        return TransportResponse(status: response.statusCode, fields: fields, body: Array(data))
    }
}

/// A redirect of an endpoint would lead secrets elsewhere.
private final class NoRedirects: NSObject, URLSessionTaskDelegate {
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) { completionHandler(nil) }
}
