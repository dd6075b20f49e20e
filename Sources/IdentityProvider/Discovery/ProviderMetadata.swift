public import NativeSSO
import StrictCoding

/// What a provider's discovery document says that the broker needs: OpenID Connect Discovery 1.0 §3. Not which signatures
/// the provider may use: that is configured, never learned.
public struct ProviderMetadata: Sendable {
    public let jwksURI: ProviderURL
    public let endpoints: ProviderEndpoints

    /// - Parameters:
    ///   - document: The body of the discovery URL.
    ///   - issuer: The configured issuer; the document must name exactly this one (§4.3).
    ///   - hosts: Where the key set may lie: the host of the discovery URL, and others that the operator named.
    public init(
        document: some Collection<UInt8>, issuer: Issuer, hosts: Set<String>, allowsLoopbackHTTP: Bool = false
    ) throws(ProviderMetadataError) {
        guard let metadata = try Self.parse(document).object else { throw .notObject }
        guard metadata.string("issuer")?.hasSameOctets(as: issuer.string) == true else { throw .issuerMismatch }
        guard let text = metadata.string("jwks_uri"),
            let jwksURI = ProviderURL(text, allowsLoopbackHTTP: allowsLoopbackHTTP)
        else { throw .badKeySetURL }
        guard hosts.contains(jwksURI.host) else { throw .foreignKeySetHost }
        self.jwksURI = jwksURI
        func endpoint(_ name: String) -> ProviderURL? {
            metadata.string(name).flatMap { ProviderURL($0, allowsLoopbackHTTP: allowsLoopbackHTTP) }
        }
        endpoints = ProviderEndpoints(
            authorization: endpoint("authorization_endpoint"), token: endpoint("token_endpoint"),
            revocation: endpoint("revocation_endpoint"))
    }

    // Real documents have up to a hundred members and list every claim and scope.
    private static let json = JSONLimits(members: 512, elements: 4096)

    private static func parse(_ document: some Collection<UInt8>) throws(ProviderMetadataError) -> JSONValue {
        do throws(JSONError) {
            return try JSONReader.parse(document, limits: json)
        } catch {
            throw .notJSON(error)
        }
    }
}
