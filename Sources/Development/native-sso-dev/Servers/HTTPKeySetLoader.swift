import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import TokenVerifier

/// Gets the issuer's key set over HTTP.
struct HTTPKeySetLoader: KeySetLoader {
    let address: String

    struct Refused: Error {
        let status: UInt
    }

    func load() async throws -> KeySetDocument {
        let response = try await PlainHTTP.client.execute(HTTPClientRequest(url: address), timeout: .seconds(5))
        guard response.status == .ok else { throw Refused(status: response.status.code) }
        let body = try await response.body.collect(upTo: 256 << 10)
        return KeySetDocument(
            octets: Array(body.readableBytesView), cacheControl: response.headers.first(name: "cache-control"))
    }
}
