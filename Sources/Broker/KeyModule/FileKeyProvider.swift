package import JOSE
package import NativeSSO
import StrictCoding

/// Keys in the files of one directory: one PKCS #8 PEM per signing key, 32 octets per MAC key.
///
/// With a passphrase, new signing keys are encrypted. Files with and without one are read.
///
/// Each call opens the directory again, so new keys and corrected owners take effect without a restart.
package struct FileKeyProvider: KeyProvider {
    let path: String
    private let passphrase: SecureBytes?

    package init(directory path: String) {
        self.path = path
        passphrase = nil
    }

    package init(directory path: String, passphrase: String) throws(KeyError) {
        self.path = path
        self.passphrase = try SecureBytes(passphrase)
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
        try directory.write(try PrivateKeyPEM.encode(key, passphrase), to: reference)
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
        let key = try decode(try directory.read(name), record, path)
        let signingKey: any SigningKey =
            record.algorithm == .es256 && !FIPSModule.isUsed
            ? try P256SigningKey(key) : try EVPSigningKey(key, algorithm: record.algorithm)
        try record.check(Base64URL.encode(signingKey.publicKey.thumbprint), at: path)
        return signingKey
    }

    private func decode(_ pem: SecureBytes, _ record: KeyRecord, _ path: String) throws(KeyError) -> EVPKey {
        do throws(KeyFileDefect) {
            let key = try PrivateKeyPEM.decode(pem, passphrase)
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
        try record.check(try key.checkValue(), at: path)
        return key
    }

    package func destroy(_ record: KeyRecord) throws(KeyError) {
        try KeyDirectory(path).remove(try Self.fileName(record))
        if record.replica != nil { try KeyDirectory(path).remove(try Self.publicFileName(record)) }
    }

    /// Of a file with the public half, which ``add(_:of:)`` has made.
    package func publicKey(_ record: KeyRecord) throws(KeyError) -> JSONWebKey {
        let directory = try KeyDirectory(path)
        let name = try Self.publicFileName(record)
        let path = directory.path(of: name)
        let octets = unsafe try directory.read(name).withUnsafeBytes { octets in unsafe Array(octets) }
        guard let json = try? JSONReader.parse(octets).object, let key = try? JSONWebKey(json),
            key.algorithm == SignatureAlgorithm(name: record.algorithm.rawValue),
            key.keyID.map({ $0.hasSameOctets(as: Base64URL.encode(key.thumbprint)) }) == true
        else { throw .file(path: path, .noPublicKey) }
        try record.check(Base64URL.encode(key.thumbprint), at: path)
        return key
    }

    /// Copies the file of a key to the directory of `other`, unless that has it. Both files must hold the key of `record`.
    /// - Returns: Whether it was copied. Throws if a file of that name holds something else, which stays as it is.
    package func copy(_ record: KeyRecord, to other: FileKeyProvider) throws(KeyError) -> Bool {
        let name = try Self.fileName(record)
        if try KeyDirectory(other.path).has(name) {
            try other.verify(record)
            return false
        }
        try verify(record)
        try KeyDirectory(other.path).write(try KeyDirectory(path).read(name), to: name)
        return true
    }

    /// Writes the public half of another replica's key, unless it is there. The same promises as of ``copy(_:to:)``.
    package func add(_ key: JSONWebKey, of record: KeyRecord) throws(KeyError) -> Bool {
        let name = try Self.publicFileName(record)
        if try KeyDirectory(path).has(name) {
            _ = try publicKey(record)
            return false
        }
        try KeyDirectory(path).write(try SecureBytes(String(decoding: key.json.octets, as: UTF8.self)), to: name)
        return true
    }

    private func verify(_ record: KeyRecord) throws(KeyError) {
        if record.use == .accessToken { _ = try signingKey(record) } else { _ = try macKey(record) }
    }

    /// What protects the file of a key, for people. Throws if it cannot be read.
    package func protection(of record: KeyRecord) throws(KeyError) -> String {
        let directory = try KeyDirectory(path)
        let name = try Self.fileName(record)
        let isEncrypted = PrivateKeyPEM.isEncrypted(try directory.read(name))
        return "file, mode \(KeyFileDefect.octal(try directory.mode(of: name))), "
            + (isEncrypted ? "encrypted" : "not encrypted")
    }

    static func fileName(_ record: KeyRecord) throws(KeyError) -> String {
        guard record.algorithm.serves(record.use) else { throw .algorithmDoesNotFit(record.algorithm, record.use) }
        guard let reference = KeyReference(record.reference, use: record.use) else {
            throw .badReference(record.reference)
        }
        return reference.fileName
    }

    /// The `kid` with `.jwk`, wherever the private part lies.
    private static func publicFileName(_ record: KeyRecord) throws(KeyError) -> String {
        guard record.use == .accessToken, record.kid.utf8.count == 43, Base64URL.decode(record.kid) != nil else {
            throw .badReference(record.reference)
        }
        return "\(record.kid).jwk"
    }
}
