import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOSSL

/// Fetches small documents over HTTP from untrusted servers: one deadline per request, a size limit, and no
/// redirects, decompression or persistent connections.
package final class DocumentClient: Sendable {
    private let http: HTTPClient
    private let timeout: Duration
    private let largest: Int

    /// Call ``shutdown()`` before releasing the last reference.
    ///
    /// - Parameters:
    ///   - timeout: For the whole request, from the DNS look-up to the last octet of the body.
    ///   - largest: Maximum octets of a body.
    ///   - authorities: The CAs that may sign the server's certificate; `nil`: the system's CAs.
    package init(
        timeout: Duration = .seconds(3), largest: Int = 256 << 10, authorities: CertificateAuthorities? = nil
    ) {
        self.timeout = timeout
        self.largest = largest
        var configuration = HTTPClient.Configuration.untrusting(authorities: authorities)
        configuration.timeout = .init(connect: TimeAmount(timeout), read: TimeAmount(timeout))
        http = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }

    package func shutdown() async throws { try await http.shutdown() }

    /// The body of a `GET`. Any status other than 200 throws.
    package func get(_ url: ProviderURL) async throws(KeySetFetchError) -> [UInt8] {
        try await within(timeout, otherwise: .timedOut) { await self.response(url) }
    }

    private func response(_ url: ProviderURL) async -> Result<[UInt8], KeySetFetchError> {
        var request = HTTPClientRequest(url: url.string)
        request.headers.add(name: "accept", value: "application/json")
        request.headers.add(name: "connection", value: "close")
        do {
            let response = try await http.execute(request, deadline: .now() + TimeAmount(timeout))
            switch response.status.code {
            case 200: return .success(try await response.untrustedBody(atMost: largest))
            case 300..<400: return .failure(.redirected)
            case let status: return .failure(.status(Int(status)))
            }
        } catch BodyDefect.encoded {
            return .failure(.encoded)
        } catch BodyDefect.tooLarge {
            return .failure(.tooLarge)
        } catch let error as HTTPClientError where Self.timeouts.contains(error) {
            return .failure(.timedOut)
        } catch let error as HTTPClientError {
            return .failure(.unreachable(error.shortDescription))
        } catch  where NIOSSLError.isAboutTrust(error) {
            return .failure(.untrustedCertificate)
        } catch {
            return .failure(.unreachable(String(describing: type(of: error))))
        }
    }

    private static let timeouts: [HTTPClientError] = [
        .deadlineExceeded, .connectTimeout, .readTimeout, .tlsHandshakeTimeout,
    ]
}
