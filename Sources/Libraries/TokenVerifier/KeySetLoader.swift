/// Gets the issuer's JWKS document: the one thing that a verifier needs from outside.
///
/// Implement it with the HTTP client that your service already has: https to one configured URL, no redirects, a size limit and a
/// timeout. Never take the URL from a token.
public protocol KeySetLoader: Sendable {
    /// One attempt; any error keeps the keys that are known. Must heed cancellation.
    func load() async throws -> KeySetDocument
}

/// A JWKS document as it was answered.
public struct KeySetDocument: Sendable {
    public var octets: [UInt8]
    /// How long the issuer says that it may be cached; nil if it does not say.
    public var maximumAge: Duration?

    public init(octets: [UInt8], maximumAge: Duration? = nil) {
        self.octets = octets
        self.maximumAge = maximumAge
    }

    /// - Parameter cacheControl: The `Cache-Control` field of the answer, RFC 9111 §5.2.2.
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
