public import JOSE

/// Why a key set could not be had. Always an outage, never a refusal; the keys that are known stay in use.
public enum KeySetFetchError: Error, Sendable, Equatable {
    case timedOut
    /// No connection, or it broke. The text is the HTTP client's name for it.
    case unreachable(String)
    /// A redirect was answered. It is not followed: it could point into the network.
    case redirected
    case status(Int)
    /// The body has a `Content-Encoding`. It is not inflated.
    case encoded
    /// The body is over the limit; the rest of it was not read.
    case tooLarge
    case unreadableFile
    case metadata(ProviderMetadataError)
    case keySet(JSONWebKeySetError)
}

/// For the log.
extension KeySetFetchError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .timedOut: "no answer in time"
        case .unreachable(let what): "unreachable: \(what)"
        case .redirected: "answered with a redirect, which is not followed"
        case .status(let status): "answered with status \(status)"
        case .encoded: "answered with a Content-Encoding, which is not decoded"
        case .tooLarge: "answered with too much"
        case .unreadableFile: "the file cannot be read"
        case .metadata(let error): "discovery: \(error)"
        case .keySet(let error): "key set: \(error)"
        }
    }
}
