import FoundationEssentials
public import NativeSSO
public import StrictCoding

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

/// What a provider offers beside its keys, by its discovery document: OpenID Connect Discovery 1.0 §3, RFC 8414 §2. Each is `nil`
/// where the document does not say, or names no URL.
public struct ProviderEndpoints: Sendable, Hashable {
    /// Where users log in. Apps are told of it; the broker itself asks nothing of it, so that it may lie on any host.
    public var authorization: ProviderURL?
    /// Where codes are redeemed.
    public var token: ProviderURL?
    /// Where tokens are revoked.
    public var revocation: ProviderURL?

    public init(authorization: ProviderURL? = nil, token: ProviderURL? = nil, revocation: ProviderURL? = nil) {
        self.authorization = authorization
        self.token = token
        self.revocation = revocation
    }

    /// Without those on other hosts to which codes, tokens and secrets would be sent.
    func trusting(_ host: String) -> ProviderEndpoints {
        func own(_ url: ProviderURL?) -> ProviderURL? { url.flatMap { $0.host == host ? $0 : nil } }
        return ProviderEndpoints(authorization: authorization, token: own(token), revocation: own(revocation))
    }
}

/// Why a discovery document is not believed. Each means: not ready, 503; never a refusal.
public enum ProviderMetadataError: Error, Sendable, Equatable {
    case notJSON(JSONError)
    case notObject
    /// `issuer` is not, octet by octet, the configured one.
    case issuerMismatch
    /// `jwks_uri` is missing, no URL, or not https.
    case badKeySetURL
    /// `jwks_uri` lies on a host that is neither that of the document nor one that was configured.
    case foreignKeySetHost
}

/// For the log.
extension ProviderMetadataError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .notJSON(let error): error.description
        case .notObject: "it is no JSON object"
        case .issuerMismatch: "its issuer is not the configured one"
        case .badKeySetURL: "its jwks_uri is missing, or no https URL"
        case .foreignKeySetHost: "its jwks_uri is on another host; see jwks_hosts"
        }
    }
}

/// Where something of the identity provider may be fetched from: https, or, in development, http on this machine.
public struct ProviderURL: Sendable, Hashable, CustomStringConvertible {
    public let string: String
    /// Lower case; an IPv6 address in brackets.
    public let host: String

    /// nil for anything but an absolute https URL of printable ASCII with a host, without user information and fragment.
    ///
    /// - Parameter allowsLoopbackHTTP: Also accepts `http` where the host is `localhost`, `127.0.0.1` or `[::1]`: for
    ///   development, where whoever can listen on loopback owns the machine anyway.
    public init?(_ text: String, allowsLoopbackHTTP: Bool = false) {
        guard text.utf8.count <= 2048, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
            let parts = URLComponents(string: text), parts.user == nil, parts.password == nil, parts.fragment == nil,
            let scheme = parts.scheme?.lowercased(), let host = parts.encodedHost?.lowercased(), !host.isEmpty
        else { return nil }
        switch scheme {
        case "https": break
        case "http" where allowsLoopbackHTTP && ["localhost", "127.0.0.1", "[::1]"].contains(host): break
        default: return nil
        }
        string = text
        self.host = host
    }

    public var description: String { string }
}
