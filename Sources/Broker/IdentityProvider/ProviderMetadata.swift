import FoundationEssentials
package import NativeSSO
package import StrictCoding

/// The parts of an IdP's discovery document that the broker needs: OpenID Connect Discovery 1.0 §3. The signature
/// algorithms come from the configuration only.
package struct ProviderMetadata: Sendable {
    package let jwksURI: ProviderURL
    package let endpoints: ProviderEndpoints

    /// - Parameters:
    ///   - document: The body of the discovery URL.
    ///   - issuer: The configured issuer. The document must contain exactly this one (§4.3).
    ///   - hosts: The allowed hosts of the key set: that of the discovery URL, and those in the configuration.
    package init(
        document: some Collection<UInt8>, issuer: Issuer, hosts: Set<String>, allowsLoopbackHTTP: Bool = false
    ) throws(ProviderMetadataError) {
        let json = try JSONReader.parse(document, limits: Self.json, failingWith: ProviderMetadataError.notJSON)
        guard let document = json.object else { throw .notObject }
        guard document.string("issuer")?.hasSameOctets(as: issuer.string) == true else { throw .issuerMismatch }
        guard let text = document.string("jwks_uri"),
            let jwksURI = ProviderURL(text, allowsLoopbackHTTP: allowsLoopbackHTTP)
        else { throw .badKeySetURL }
        guard hosts.contains(jwksURI.host) else { throw .foreignKeySetHost }
        self.jwksURI = jwksURI
        func endpoint(_ name: String) -> ProviderURL? {
            document.string(name).flatMap { ProviderURL($0, allowsLoopbackHTTP: allowsLoopbackHTTP) }
        }
        endpoints = ProviderEndpoints(
            authorization: endpoint("authorization_endpoint"), token: endpoint("token_endpoint"),
            revocation: endpoint("revocation_endpoint"),
            sendsIssuer: document["authorization_response_iss_parameter_supported"] == .bool(true))
    }

    // Real documents have up to a hundred members and list every claim and scope.
    private static let json = JSONLimits(members: 512, elements: 4096)
}

/// An IdP's endpoints in its discovery document: OpenID Connect Discovery 1.0 §3, RFC 8414 §2. `nil` if missing or
/// not a valid URL.
package struct ProviderEndpoints: Sendable, Hashable {
    /// Where users log in. The broker only passes it to apps, so it may be on any host.
    package var authorization: ProviderURL?
    package var token: ProviderURL?
    package var revocation: ProviderURL?
    /// Whether its answers to authorization requests name it in `iss`. RFC 9207 §3.
    package var sendsIssuer = false

    /// Removes endpoints on other hosts that would receive codes, tokens or secrets.
    func trusting(_ host: String) -> ProviderEndpoints {
        func own(_ url: ProviderURL?) -> ProviderURL? { url.flatMap { $0.host == host ? $0 : nil } }
        return ProviderEndpoints(
            authorization: authorization, token: own(token), revocation: own(revocation), sendsIssuer: sendsIssuer)
    }
}

/// Why a discovery document was rejected. Always an outage (503), never a refusal.
package enum ProviderMetadataError: Error, Sendable, Equatable {
    case notJSON(JSONError)
    case notObject
    /// `issuer` does not equal the configured one exactly.
    case issuerMismatch
    /// `jwks_uri` is missing, not a URL, or not https.
    case badKeySetURL
    /// `jwks_uri` is on a host that is neither the document's nor configured.
    case foreignKeySetHost
}

extension ProviderMetadataError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .notJSON(let error): error.description
        case .notObject: "it is no JSON object"
        case .issuerMismatch: "its issuer is not the configured one"
        case .badKeySetURL: "its jwks_uri is missing, or no https URL"
        case .foreignKeySetHost: "its jwks_uri is on another host; see jwks_hosts"
        }
    }
}

/// A URL of an IdP: https; in development also http on loopback.
package struct ProviderURL: Sendable, Hashable, CustomStringConvertible {
    package let string: String
    /// Lower case; an IPv6 address in brackets.
    package let host: String

    /// nil unless the text is an absolute https URL of printable ASCII with a host, without user information and
    /// fragment.
    ///
    /// - Parameter allowsLoopbackHTTP: Also accepts `http` for `localhost`, `127.0.0.1` and `[::1]`. For development
    ///   only: an attacker who can listen there controls the machine anyway.
    package init?(_ text: String, allowsLoopbackHTTP: Bool = false) {
        guard text.utf8.count <= 2048, text.isPrintableASCII(except: UInt8(ascii: " ")),
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

    package var description: String { string }
}
