/// Why a JSON Web Key cannot be used to verify signatures.
public enum JSONWebKeyError: Error, Sendable, Equatable {
    case notObject
    /// `kty` or `crv` names nothing that we verify with; symmetric keys (`oct`) among them.
    case unsupportedKeyType
    /// `alg` names nothing that we verify, for instance an encryption algorithm.
    case unsupportedAlgorithm
    /// `alg` belongs to another kind of key or another curve.
    case algorithmDoesNotFitKey
    /// `use` or `key_ops` say that the key is for something else (RFC 7517 §4.2, §4.3).
    case notForVerification
    /// A private member (`d`, `p`, …) is present: the key is no secret any more.
    case privateKey
    /// A member is missing, of the wrong type, not canonical base64url, or of the wrong length.
    case malformedMember
    /// RSA: modulus under 2048 or over 8192 bits, even, or of a generator known to be broken; exponent under 65537, over 32
    /// bits, or even.
    case weakKey
    /// The point is not on the curve.
    case invalidPoint
}

extension JSONWebKeyError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .notObject: "no JSON object"
        case .unsupportedKeyType: "kty or crv is none that is known"
        case .unsupportedAlgorithm: "alg is none that is known"
        case .algorithmDoesNotFitKey: "alg is for another kind of key"
        case .notForVerification: "use or key_ops say that it is for something else"
        case .privateKey: "it has private members"
        case .malformedMember: "a member is missing or malformed"
        case .weakKey: "it is weak"
        case .invalidPoint: "it is no point of its curve"
        }
    }
}
