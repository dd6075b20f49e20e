public import StrictCoding

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
