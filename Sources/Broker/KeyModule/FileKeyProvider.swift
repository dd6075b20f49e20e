import JOSE
package import NativeSSO
import StrictCoding

/// Keys in the files of one directory: one PKCS #8 PEM per signing key, 32 octets per MAC key.
///
/// Each call opens the directory again, so new keys and corrected owners take effect without a restart.
package struct FileKeyProvider: KeyProvider {
    let path: String

    package init(directory path: String) {
        self.path = path
    }

    /// Throws if the directory itself is unusable.
    package func check() throws(KeyError) {
        _ = try KeyDirectory(path)
    }

    package func generateSigningKey(_ algorithm: KeyAlgorithm, modulusBits: Int) throws(KeyError) -> GeneratedKey {
        let directory = try KeyDirectory(path)
        let key = try EVPKey.generate(algorithm, modulusBits: modulusBits)
        let publicKey = try key.publicKey(algorithm)
        let kid = Base64URL.encode(publicKey.thumbprint)
        let reference = KeyReference.signing(kid: kid).fileName
        try directory.write(try PrivateKeyPEM.encode(key), to: reference)
        return GeneratedKey(signing: publicKey, reference: reference, algorithm: algorithm)
    }

    package func generateRefreshTokenKey(id: UInt8) throws(KeyError) -> GeneratedKey {
        try generateMACKey(.refreshToken(id: id))
    }

    package func generateDeviceKey() throws(KeyError) -> GeneratedKey {
        try generateMACKey(.device)
    }

    private func generateMACKey(_ reference: KeyReference) throws(KeyError) -> GeneratedKey {
        let directory = try KeyDirectory(path)
        let secret = try MACKey.generate()
        try directory.write(secret, to: reference.fileName)
        let key = try MACKey(secret, path: directory.path(of: reference.fileName))
        return GeneratedKey(
            kid: try key.checkValue(), reference: reference.fileName, algorithm: .hs256, publicJWK: nil)
    }

    package func signingKey(_ record: KeyRecord) throws(KeyError) -> any SigningKey {
        let directory = try KeyDirectory(path)
        let name = try Self.fileName(record)
        let path = directory.path(of: name)
        let key = try Self.decode(try directory.read(name), record, path)
        let signingKey = try EVPSigningKey(key, algorithm: record.algorithm)
        try Self.check(Base64URL.encode(signingKey.publicKey.thumbprint), record, path)
        return signingKey
    }

    private static func decode(_ pem: SecureBytes, _ record: KeyRecord, _ path: String) throws(KeyError) -> EVPKey {
        do throws(KeyFileDefect) {
            let key = try PrivateKeyPEM.decode(pem)
            try key.check(for: record.algorithm)
            return key
        } catch {
            throw .file(path: path, error)
        }
    }

    package func macKey(_ record: KeyRecord) throws(KeyError) -> any MessageAuthenticator {
        let directory = try KeyDirectory(path)
        let name = try Self.fileName(record)
        let path = directory.path(of: name)
        let key = try MACKey(try directory.read(name), path: path)
        try Self.check(try key.checkValue(), record, path)
        return key
    }

    package func destroy(_ record: KeyRecord) throws(KeyError) {
        try KeyDirectory(path).remove(try Self.fileName(record))
    }

    private static func fileName(_ record: KeyRecord) throws(KeyError) -> String {
        guard record.algorithm.serves(record.use) else { throw .algorithmDoesNotFit(record.algorithm, record.use) }
        guard let reference = KeyReference(record.reference, use: record.use) else {
            throw .badReference(record.reference)
        }
        return reference.fileName
    }

    private static func check(_ kid: String, _ record: KeyRecord, _ path: String) throws(KeyError) {
        guard kid.hasSameOctets(as: record.kid) else {
            throw .otherKey(path: path, expected: record.kid, found: kid)
        }
    }
}

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

    /// Loads the private key of `record`. Throws unless its `kid` and algorithm match.
    func signingKey(_ record: KeyRecord) async throws(KeyError) -> any SigningKey
    func macKey(_ record: KeyRecord) async throws(KeyError) -> any MessageAuthenticator

    /// Destroys the private key of `record`. Does nothing if it does not exist.
    func destroy(_ record: KeyRecord) async throws(KeyError)
}

package struct GeneratedKey: Sendable, Hashable {
    package let kid: String
    package let reference: String
    package let algorithm: KeyAlgorithm
    /// The public key as JSON; `nil` for a MAC key.
    package let publicJWK: String?

    package init(kid: String, reference: String, algorithm: KeyAlgorithm, publicJWK: String?) {
        self.kid = kid
        self.reference = reference
        self.algorithm = algorithm
        self.publicJWK = publicJWK
    }

    init(signing key: JSONWebKey, reference: String, algorithm: KeyAlgorithm) {
        var json = JSONWriter()
        json.value(.object(key.json))
        self.init(
            kid: Base64URL.encode(key.thumbprint), reference: reference, algorithm: algorithm,
            publicJWK: String(decoding: json.bytes, as: UTF8.self))
    }
}
