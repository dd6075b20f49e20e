package import JOSE
package import NativeSSO
import StrictCoding

/// Stores private keys, in files or in a token that signs. One conformance suite tests every provider.
package protocol KeyProvider: Sendable {
    /// Throws if no key can be had from it at all.
    func check() throws(KeyError)

    /// Creates a signing key.
    /// - Parameter modulusBits: Only for RSA.
    func generateSigningKey(_ algorithm: KeyAlgorithm, modulusBits: Int) async throws(KeyError) -> GeneratedKey

    /// Creates a key for refresh-token tags. `id` is the first octet of its tokens.
    func generateRefreshTokenKey(id: UInt8) async throws(KeyError) -> GeneratedKey

    func generateDeviceKey() async throws(KeyError) -> GeneratedKey

    /// The public key of another replica's signing key, whose private part is not here. Never from the database: write access to
    /// that cannot introduce a key.
    func publicKey(_ record: KeyRecord) async throws(KeyError) -> JSONWebKey

    /// Loads the private key of `record`. Throws unless its `kid` and algorithm match.
    func signingKey(_ record: KeyRecord) async throws(KeyError) -> any SigningKey
    func macKey(_ record: KeyRecord) async throws(KeyError) -> any MessageAuthenticator

    /// What protects the private key of `record`, for people. Throws if that cannot be seen.
    func protection(of record: KeyRecord) async throws(KeyError) -> String

    /// Destroys the private key of `record`. Does nothing if it does not exist.
    func destroy(_ record: KeyRecord) async throws(KeyError)
}

package struct GeneratedKey: Sendable, Hashable {
    package let kid: String
    package let reference: String
    package let algorithm: KeyAlgorithm
    /// The public key as JSON; `nil` for a MAC key.
    package let publicJWK: String?
}

extension GeneratedKey {
    init(signing key: JSONWebKey, reference: String, algorithm: KeyAlgorithm) {
        self.init(
            kid: Base64URL.encode(key.thumbprint), reference: reference, algorithm: algorithm,
            publicJWK: String(decoding: key.json.octets, as: UTF8.self))
    }
}

extension KeyRecord {
    /// Throws if what was found at `place` is the key `kid` and not this one.
    func check(_ kid: String, at place: String) throws(KeyError) {
        guard kid.hasSameOctets(as: self.kid) else { throw .otherKey(path: place, expected: self.kid, found: kid) }
    }
}
