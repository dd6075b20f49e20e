import Crypto

/// A key of one app on one device that shows who is asking: its tokens work with nothing else. RFC 9449.
///
/// On P-256, which is what phones keep where nobody can copy it: with `SecureEnclave.P256.Signing.PrivateKey` a conformance is
/// `publicKey.x963Representation` and `signature(for:).rawRepresentation`. A key that is lost is replaced by a new login.
public protocol ProofKey: Sendable {
    /// The public key as an uncompressed point: 4, then both coordinates, 65 octets. SEC 1 §2.3.3.
    var publicPoint: [UInt8] { get }

    /// ECDSA with SHA-256: r and s side by side, 64 octets.
    func signature(over message: [UInt8]) async throws -> [UInt8]
}

/// A proof key in memory: where there is no hardware for it, and for tests.
public struct SoftwareProofKey: ProofKey, CustomStringConvertible, CustomReflectable {
    private let key: P256.Signing.PrivateKey

    /// A new key.
    public init() { key = P256.Signing.PrivateKey() }

    /// The key of ``secret``; nil if it is none.
    public init?(secret: [UInt8]) {
        guard let key = try? P256.Signing.PrivateKey(rawRepresentation: secret) else { return nil }
        self.key = key
    }

    /// 32 octets for the app's own keychain.
    public var secret: [UInt8] { Array(key.rawRepresentation) }

    public var publicPoint: [UInt8] { Array(key.publicKey.x963Representation) }

    public func signature(over message: [UInt8]) throws -> [UInt8] {
        Array(try key.signature(for: message).rawRepresentation)
    }

    public var description: String { "****" }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
