import AsyncHTTPClient
import NIOCore
import NIOHTTP1

/// Loads a JWKS document over HTTPS: one configured URL, no redirects, at most 256 KiB.
///
/// ``KeyCachePolicy`` limits the time of a load.
public struct HTTPKeySetLoader: KeySetLoader {
    private static let largest = 256 << 10

    /// Why a document was not taken.
    public struct Refused: Error, Sendable, CustomStringConvertible {
        public let description: String
    }

    /// Of the process, and never shut down.
    private static let client = {
        var configuration = HTTPClient.Configuration()
        configuration.redirectConfiguration = .disallow
        configuration.decompression = .disabled
        return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }()

    private let address: String

    /// - Parameter address: An `https` URL; `http` only at this machine (`127.0.0.1`, `[::1]`, `localhost`). nil for
    ///   anything else: an attacker who changes the key set on its way can sign tokens.
    public init?(_ address: String) {
        guard let parts = try? HTTPClient.Request(url: address), parts.scheme == "https" || Self.isLocal(parts.host)
        else { return nil }
        self.address = address
    }

    private static func isLocal(_ host: String) -> Bool { ["127.0.0.1", "::1", "[::1]", "localhost"].contains(host) }

    /// Makes one request. Throws ``Refused``, or the error of the connection.
    public func load() async throws -> KeySetDocument {
        var request = HTTPClientRequest(url: address)
        request.headers.add(name: "Accept", value: "application/jwk-set+json, application/json")
        let response = try await Self.client.execute(request, deadline: .distantFuture)
        guard response.status == .ok else {
            throw Refused(description: "the answer has status \(response.status.code)")
        }
        let body = try await response.body.collect(upTo: Self.largest)
        return KeySetDocument(
            octets: Array(body.readableBytesView), cacheControl: response.headers.first(name: "cache-control"))
    }
}
