import Crypto
public import OAuthWire
import StrictCoding

/// Makes proofs that a request comes from whoever holds a key: the `DPoP` field of RFC 9449 §4.
public struct DPoPProver: Sendable {
    private let key: any ProofKey
    /// base64url of the JOSE header, which never changes.
    private let header: String
    private let now: @Sendable () -> Int64

    /// - Parameter now: Seconds since 1970.
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

    /// A proof for one request; a request that is sent again needs another.
    ///
    /// - Parameters:
    ///   - method: Of the request, such as `POST`.
    ///   - address: Of the request; its query and fragment are left out.
    ///   - nonce: The last that the server gave.
    ///   - accessToken: Where the request carries one, as `Authorization: DPoP …`.
    /// - Throws: What the key throws.
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
