import IdentityProvider
import JOSE
import NativeSSO
import StrictCoding

/// What an identity provider says of itself that matters to the broker: OpenID Connect Discovery 1.0 §3, Back-Channel
/// Logout 1.0 §2.1, Native SSO.
struct DiscoveredProvider {
    /// The host of the key set, if it is not that of the document.
    let foreignKeySetHost: String?
    /// With which it may sign id_tokens, in its order, as far as the broker verifies them.
    let algorithms: [SignatureAlgorithm]
    /// The others that it names.
    let otherAlgorithms: [String]
    /// `nil`: it does not say which claims its id_tokens have.
    let claims: [String]?
    let hasNativeSSO: Bool
    let endSessionEndpoint: String?
    let sendsLogoutTokens: Bool
    /// Whether its logout tokens name the session.
    let logoutTokensHaveSID: Bool
    let keys: JSONWebKeySet

    /// Whether its id_tokens name the session, as far as it says.
    var namesSessions: Bool { logoutTokensHaveSID || claims?.contains("sid") == true }

    /// Fetches the document and the key set.
    /// - Parameters:
    ///   - hosts: Where the key set may be, beside the document's own host; `nil`: anywhere.
    static func fetch(
        _ issuer: Issuer, at url: ProviderURL, hosts: Set<String>?, isDevelopment: Bool, _ documents: DocumentClient
    ) async throws(KeySetFetchError) -> DiscoveredProvider {
        let document = try await documents.get(url)
        let json = (try? JSONReader.parse(document, limits: JSONLimits(members: 512, elements: 4096)))?.object
        let named = json?.string("jwks_uri").flatMap { ProviderURL($0, allowsLoopbackHTTP: isDevelopment) }?.host
        let allowed = (hosts ?? Set([named].compactMap(\.self))).union([url.host])
        let keySet: ProviderURL
        do throws(ProviderMetadataError) {
            keySet = try ProviderMetadata(
                document: document, issuer: issuer, hosts: allowed, allowsLoopbackHTTP: isDevelopment
            ).jwksURI
        } catch {
            throw .metadata(error)
        }
        let keys = try JSONWebKeySet(fetched: try await documents.get(keySet))
        return DiscoveredProvider(
            json ?? JSONObject(), keys, foreignKeySetHost: keySet.host == url.host ? nil : keySet.host)
    }

    private init(_ json: JSONObject, _ keys: JSONWebKeySet, foreignKeySetHost: String?) {
        // RS256 is in every document; some leave the list out.
        let names = json["id_token_signing_alg_values_supported"]?.strings ?? ["RS256"]
        algorithms = names.compactMap { SignatureAlgorithm(name: $0) }
        otherAlgorithms = names.filter { SignatureAlgorithm(name: $0) == nil }
        claims = json["claims_supported"]?.strings
        hasNativeSSO = json["native_sso_supported"]?.bool == true
        endSessionEndpoint = json.string("end_session_endpoint")
        sendsLogoutTokens = json["backchannel_logout_supported"]?.bool == true
        logoutTokensHaveSID = json["backchannel_logout_session_supported"]?.bool == true
        self.keys = keys
        self.foreignKeySetHost = foreignKeySetHost
    }
}
