import StrictCoding

/// The signature algorithms that can be asked for: RFC 7518 §3.1, RFC 8037 §3.1, RFC 9864 §2.2.
///
/// `none` and the HMAC family do not exist in this type, so no allow-list, key or header can name them. Raw values are the
/// registered names, which are case-sensitive.
public enum SignatureAlgorithm: String, Sendable, CaseIterable {
    case rs256 = "RS256"
    case rs384 = "RS384"
    case rs512 = "RS512"
    case ps256 = "PS256"
    case ps384 = "PS384"
    case ps512 = "PS512"
    case es256 = "ES256"
    case es384 = "ES384"
    case es512 = "ES512"
    /// Ed25519 under the older, polymorphic name; Ed448 is not supported.
    case edDSA = "EdDSA"
    case ed25519 = "Ed25519"

    /// The algorithm of exactly this name.
    public init?(name: String) {
        guard let algorithm = Self.allCases.first(where: { $0.rawValue.hasSameOctets(as: name) }) else { return nil }
        self = algorithm
    }

    /// Whether both names stand for one algorithm: `EdDSA` is `Ed25519` here (RFC 9864 §2.2).
    public func isSame(as other: SignatureAlgorithm) -> Bool {
        canonical == other.canonical
    }

    private var canonical: SignatureAlgorithm { self == .edDSA ? .ed25519 : self }
}
