import Crypto
public import OAuthWire
import StrictCoding

/// Creates DPoP proofs for requests: the `DPoP` header field of RFC 9449 §4.
public struct DPoPProver: Sendable {
    private let key: any ProofKey
    /// The constant JOSE header in base64url.
    private let header: String
    private let now: @Sendable () -> Int64

    /// Creates a prover with one key.
    ///
    /// - Parameters:
    ///   - key: The app's proof key.
    ///   - now: The current time in seconds since 1970, for `iat`.
    public init(key: any ProofKey, now: @escaping @Sendable () -> Int64) {
        self.key = key
        self.now = now
        let coordinates = key.publicPoint.dropFirst()
        var json = JSONWriter()
        json.object { json in
            json.member("typ", "dpop+jwt")
            json.member("alg", "ES256")
            json.member(
                "jwk",
                object: { jwk in
                    jwk.member("kty", "EC")
                    jwk.member("crv", "P-256")
                    jwk.member("x", Base64URL.encode(Array(coordinates.prefix(32))))
                    jwk.member("y", Base64URL.encode(Array(coordinates.dropFirst(32))))
                })
        }
        header = Base64URL.encode(json.bytes)
    }

    /// A proof for one request, RFC 9449 §4.2. Each attempt needs a new proof.
    ///
    /// - Parameters:
    ///   - method: The HTTP method, such as `POST` (`htm`).
    ///   - address: The request's URL (`htu`); query and fragment are removed.
    ///   - nonce: The last `DPoP-Nonce` of this server (§8).
    ///   - accessToken: The access token that the request carries, if any (`ath`, §4.2).
    /// - Throws: The key's error.
    public func proof(
        _ method: String, _ address: String, nonce: String? = nil, accessToken: Credential? = nil
    ) async throws -> String {
        let target = address.prefix { $0 != "?" && $0 != "#" }
        var json = JSONWriter()
        json.object { json in
            json.member("jti", RandomText.make())
            json.member("htm", method)
            json.member("htu", String(target))
            json.member("iat", now())
            if let nonce { json.member("nonce", nonce) }
            if let accessToken {
                let hash = SHA256.hash(data: Array(accessToken.secret.utf8))
                json.member("ath", Base64URL.encode(Array(hash)))
            }
        }
        let signed = header + "." + Base64URL.encode(json.bytes)
        return signed + "." + Base64URL.encode(try await key.signature(over: Array(signed.utf8)))
    }
}

/// A private key of one app on one device. Tokens bound to it are useless without it. RFC 9449.
///
/// A P-256 key, because secure hardware of phones supports it. With `SecureEnclave.P256.Signing.PrivateKey`, a
/// conformance returns `publicKey.x963Representation` and `signature(for:).rawRepresentation`. A lost key requires a
/// new login.
public protocol ProofKey: Sendable {
    /// The public key as an uncompressed point: 4, then both coordinates, 65 octets. SEC 1 §2.3.3.
    var publicPoint: [UInt8] { get }

    /// An ECDSA signature with SHA-256: r followed by s, 64 octets. Throws if the key cannot sign.
    func signature(over message: [UInt8]) async throws -> [UInt8]
}

/// A proof key in memory, for devices without secure hardware and for tests. Prints as `****`.
public struct SoftwareProofKey: ProofKey, CustomStringConvertible, CustomReflectable {
    private let key: P256.Signing.PrivateKey

    /// Generates a key.
    public init() { key = P256.Signing.PrivateKey() }

    /// Restores a key from ``secret``; nil if the octets are not a P-256 private key.
    public init?(secret: [UInt8]) {
        guard let key = try? P256.Signing.PrivateKey(rawRepresentation: secret) else { return nil }
        self.key = key
    }

    /// The private key, 32 octets. Store it only in the app's own keychain.
    public var secret: [UInt8] { Array(key.rawRepresentation) }

    /// The public key, as ``ProofKey`` asks for it.
    public var publicPoint: [UInt8] { Array(key.publicKey.x963Representation) }

    /// ECDSA with SHA-256, as ``ProofKey`` asks for it.
    public func signature(over message: [UInt8]) throws -> [UInt8] {
        Array(try key.signature(for: message).rawRepresentation)
    }

    public var description: String { "****" }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
