import Crypto
import StrictCoding

/// A secret that was made here for a client: 256 random bits in base64url. It prints as `****`.
///
/// Shown once, to whoever asked for it; what is kept is its ``ClientSecretDigest``.
public struct ClientSecret: Sendable, CustomStringConvertible, CustomReflectable {
    /// The text itself. Never for a log.
    public let secret: String

    /// - Parameter randomness: Good for keys; that of the operating system is.
    public init(using randomness: inout some RandomNumberGenerator) {
        secret = Base64URL.encode((0..<32).map { _ in UInt8.random(in: .min ... .max, using: &randomness) })
    }

    public var digest: ClientSecretDigest { ClientSecretDigest(of: secret) }

    public var description: String { "****" }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// SHA-256 of a client's secret, and all that is stored of it: nobody guesses 256 bits, however fast the hash.
public struct ClientSecretDigest: Hashable, Sendable {
    public let octets: [UInt8]

    public init?(octets: [UInt8]) {
        guard octets.count == 32 else { return nil }
        self.octets = octets
    }

    /// - Parameter secret: As it was presented.
    public init(of secret: String) {
        octets = Array(SHA256.hash(data: Array(secret.utf8)))
    }

    /// In a time that does not depend on where they differ.
    public func matches(_ other: ClientSecretDigest) -> Bool { ConstantTime.equal(octets, other.octets) }

    /// The first eight hexadecimal digits: tells the secrets of a client apart, and whoever holds one which it is.
    public var label: String { Hexadecimal.encode(octets.prefix(4)) }
}
