public import JOSE

/// A private key that makes signatures, wherever it lives.
public protocol SigningKey: Sendable {
    /// The public half, with `kid` (its RFC 7638 thumbprint) and `alg`.
    var publicKey: JSONWebKey { get }

    var algorithm: KeyAlgorithm { get }

    /// The signature of `message` in the form of JWS, RFC 7518 §3.3 and §3.4.
    func signature(over message: [UInt8]) async throws(KeyError) -> [UInt8]
}
