/// Loads the issuer's JWKS document (RFC 7517 §5).
///
/// Implement it with your service's HTTP client: https to one configured URL, no redirects, a size limit and a
/// timeout. Never take the URL from a token.
public protocol KeySetLoader: Sendable {
    /// Makes one attempt. Must support cancellation. After any error the known keys stay in use.
    func load() async throws -> KeySetDocument
}

/// A JWKS document as received.
public struct KeySetDocument: Sendable {
    /// The JSON text.
    public var octets: [UInt8]
    /// How long the issuer allows caching; nil if it does not say.
    public var maximumAge: Duration?

    /// A document from a source without HTTP headers.
    public init(octets: [UInt8], maximumAge: Duration? = nil) {
        self.octets = octets
        self.maximumAge = maximumAge
    }

    /// A document from an HTTP response.
    ///
    /// - Parameters:
    ///   - octets: The JSON text.
    ///   - cacheControl: The response's `Cache-Control` field (RFC 9111 §5.2.2); nil if absent.
    public init(octets: [UInt8], cacheControl: String?) {
        self.octets = octets
        for directive in cacheControl?.lowercased().split(separator: ",") ?? [] {
            let parts = directive.split(separator: "=", maxSplits: 1)
            switch parts.first.map({ $0.filter { $0 != " " } }) {
            case "no-cache", "no-store": maximumAge = .zero
            case "max-age" where maximumAge == nil:
                maximumAge = parts.last.flatMap { UInt32($0.filter { $0 != " " }) }.map { .seconds($0) }
            default: break
            }
        }
    }
}
