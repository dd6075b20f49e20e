/// Why the provider does not start.
package enum ProviderError: Error, Sendable, Equatable, CustomStringConvertible {
    /// It serves a login page with known passwords over plain HTTP: no address but loopback.
    case notLoopback(String)
    case unreadableFile(String)
    case unwritableFile(String)
    /// A key file that is no PKCS #8 PEM of a P-256 or RSA key of at least 2048 bits, or of the other algorithm.
    case unusableKey(String)
    /// A file whose JSON is malformed or says something unexpected; `reason` names the place.
    case malformedFile(String, reason: String)

    package var description: String {
        switch self {
        case .notLoopback(let host): "the development identity provider listens on loopback only, not on \(host)"
        case .unreadableFile(let path): "cannot read \(path)"
        case .unwritableFile(let path): "cannot create \(path)"
        case .unusableKey(let path): "no usable signing key in \(path)"
        case .malformedFile(let path, let reason): "\(path): \(reason)"
        }
    }
}
