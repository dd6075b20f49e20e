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
