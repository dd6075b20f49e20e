import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOSSL

/// Fetches small documents over HTTP and trusts the other side with nothing: one deadline for all of it, a size limit while
/// reading, no redirects, no decompression, no connection kept.
public final class DocumentClient: Sendable {
    private let http: HTTPClient
    private let timeout: Duration
    private let largest: Int

    /// ``shutdown()`` must be called before the last reference goes.
    ///
    /// - Parameters:
    ///   - timeout: For the whole of a request, from look-up of the name to the last octet of the body.
    ///   - largest: Octets of a body.
    ///   - authorities: Who may vouch for the other side; `nil`: whom the system trusts.
    public init(
        timeout: Duration = .seconds(3), largest: Int = 256 << 10, authorities: CertificateAuthorities? = nil
    ) {
        self.timeout = timeout
        self.largest = largest
        var configuration = HTTPClient.Configuration()
        configuration.redirectConfiguration = .disallow
        configuration.decompression = .disabled
        configuration.httpVersion = .http1Only
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        if let authorities { tls.trustRoots = .certificates(authorities.certificates) }
        configuration.tlsConfiguration = tls
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.timeout = .init(
            connect: .nanoseconds(Self.nanoseconds(timeout)), read: .nanoseconds(Self.nanoseconds(timeout)))
        http = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }

    public func shutdown() async throws {
        try await http.shutdown()
    }

    /// The body of a `GET` that was answered with 200.
    public func get(_ url: ProviderURL) async throws(KeySetFetchError) -> [UInt8] {
        let timeout = timeout
        let outcome = await withTaskGroup { group -> Result<[UInt8], KeySetFetchError> in
            group.addTask { await self.response(url) }
            group.addTask {
                try? await Task.sleep(for: timeout)
                return .failure(.timedOut)
            }
            let first = await group.next()
            group.cancelAll()  // ends the sleep, or closes the connection
            return first ?? .failure(.timedOut)
        }
        return try outcome.get()
    }

    private func response(_ url: ProviderURL) async -> Result<[UInt8], KeySetFetchError> {
        var request = HTTPClientRequest(url: url.string)
        request.headers.add(name: "accept", value: "application/json")
        request.headers.add(name: "connection", value: "close")
        do {
            let deadline = NIODeadline.now() + .nanoseconds(Self.nanoseconds(timeout))
            let response = try await http.execute(request, deadline: deadline)
            return .success(try await body(of: response))
        } catch let error as KeySetFetchError {
            return .failure(error)
        } catch let error as HTTPClientError where Self.timeouts.contains(error) {
            return .failure(.timedOut)
        } catch let error as HTTPClientError {
            return .failure(.unreachable(error.shortDescription))
        } catch {
            return .failure(.unreachable(String(describing: type(of: error))))
        }
    }

    private static let timeouts: [HTTPClientError] = [
        .deadlineExceeded, .connectTimeout, .readTimeout, .tlsHandshakeTimeout,
    ]

    private func body(of response: HTTPClientResponse) async throws -> [UInt8] {
        guard !(300..<400).contains(response.status.code) else { throw KeySetFetchError.redirected }
        guard response.status.code == 200 else { throw KeySetFetchError.status(Int(response.status.code)) }
        guard !response.headers.contains(name: "content-encoding") else { throw KeySetFetchError.encoded }
        if let length = response.headers.first(name: "content-length").flatMap({ Int($0) }), length > largest {
            throw KeySetFetchError.tooLarge
        }
        var body: [UInt8] = []
        for try await part in response.body {
            guard body.count + part.readableBytes <= largest else { throw KeySetFetchError.tooLarge }
            body.append(contentsOf: part.readableBytesView)
        }
        return body
    }

    private static func nanoseconds(_ duration: Duration) -> Int64 {
        let (seconds, attoseconds) = duration.components
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        return overflow ? .max : whole + attoseconds / 1_000_000_000
    }
}
