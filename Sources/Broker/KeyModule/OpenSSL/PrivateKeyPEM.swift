import COpenSSL

/// PKCS #8 private keys in PEM, one per file: RFC 7468 §10, and with a passphrase §11.
enum PrivateKeyPEM {
    static func decode(_ text: SecureBytes, _ passphrase: SecureBytes? = nil) throws(KeyFileDefect) -> EVPKey {
        unsafe try text.withUnsafeBytes { text throws(KeyFileDefect) in
            defer { ERR_clear_error() }
            guard let bio = unsafe BIO_new_mem_buf(text.baseAddress, Int32(clamping: text.count)) else {
                throw .unreadablePEM
            }
            defer { unsafe BIO_free(bio) }
            let key = unsafe try decode(bio, passphrase)
            guard unsafe BIO_ctrl_pending(bio) == 0 else { throw .trailingOctets }
            return key
        }
    }

    /// Whether this is an encrypted key, as far as its first line says.
    static func isEncrypted(_ text: SecureBytes) -> Bool {
        unsafe text.withUnsafeBytes { unsafe $0.starts(with: "-----BEGIN ENCRYPTED PRIVATE KEY-----".utf8) }
    }

    private static func decode(_ bio: OpaquePointer, _ passphrase: SecureBytes?) throws(KeyFileDefect) -> EVPKey {
        var label: UnsafeMutablePointer<CChar>?
        var header: UnsafeMutablePointer<CChar>?
        var der: UnsafeMutablePointer<UInt8>?
        var count = 0
        guard unsafe PEM_read_bio_ex(bio, &label, &header, &der, &count, UInt32(PEM_FLAG_SECURE)) == 1 else {
            throw .unreadablePEM
        }
        defer {
            unsafe copenssl_secure_free(label)
            unsafe copenssl_secure_free(header)
            unsafe copenssl_secure_clear_free(der, count)
        }
        guard let label = unsafe label.map({ unsafe String(cString: $0) }), let der = unsafe der else {
            throw .unreadablePEM
        }
        // Older formats announce encryption in a header, PKCS #8 in its label.
        guard unsafe header.map({ unsafe strlen($0) == 0 }) ?? true else { throw .encryptedPEM }
        if label == "ENCRYPTED PRIVATE KEY" {
            guard let passphrase else { throw .encryptedPEM }
            return unsafe try decrypt(der, count, passphrase)
        }
        guard label == "PRIVATE KEY" else { throw .notPKCS8(label: label) }
        return unsafe try decode(der, count)
    }

    private static func decode(_ der: UnsafePointer<UInt8>, _ count: Int) throws(KeyFileDefect) -> EVPKey {
        var next: UnsafePointer<UInt8>? = unsafe der
        guard let info = unsafe d2i_PKCS8_PRIV_KEY_INFO(nil, &next, count) else { throw .unreadablePEM }
        defer { unsafe PKCS8_PRIV_KEY_INFO_free(info) }
        guard unsafe next == der + count else { throw .unreadablePEM }
        return unsafe try key(info)
    }

    private static func key(_ info: OpaquePointer) throws(KeyFileDefect) -> EVPKey {
        guard let key = unsafe EVP_PKCS82PKEY(info) else { throw .unreadablePEM }
        return unsafe EVPKey(owning: key)
    }

    /// RFC 5958 §3. OpenSSL overwrites its copy of what it decrypted.
    private static func decrypt(
        _ der: UnsafePointer<UInt8>, _ count: Int, _ passphrase: SecureBytes
    ) throws(KeyFileDefect) -> EVPKey {
        var next: UnsafePointer<UInt8>? = unsafe der
        guard let sealed = unsafe d2i_X509_SIG(nil, &next, count) else { throw .unreadablePEM }
        defer { unsafe X509_SIG_free(sealed) }
        guard unsafe next == der + count else { throw .unreadablePEM }
        let info = unsafe passphrase.withUnsafeBytes { secret in
            unsafe PKCS8_decrypt(
                sealed, secret.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(clamping: secret.count))
        }
        guard let info = unsafe info else { throw .wrongPassphrase }
        defer { unsafe PKCS8_PRIV_KEY_INFO_free(info) }
        return unsafe try key(info)
    }

    static func encode(_ key: EVPKey, _ passphrase: SecureBytes? = nil) throws(KeyError) -> SecureBytes {
        guard let bio = unsafe BIO_new(BIO_s_secmem()) else { throw .openSSL("BIO_new") }
        defer { unsafe BIO_free(bio) }
        if let passphrase {
            let isWritten = unsafe passphrase.withUnsafeBytes { secret in
                unsafe copenssl_write_encrypted(
                    bio, key.pointer, secret.baseAddress?.assumingMemoryBound(to: CChar.self),
                    Int32(clamping: secret.count), iterations)
            }
            guard isWritten == 1 else { throw .openSSL("PKCS #8 encryption") }
        } else {
            guard unsafe PEM_write_bio_PKCS8PrivateKey(bio, key.pointer, nil, nil, 0, nil, nil) == 1 else {
                throw .openSSL("PEM_write_bio_PKCS8PrivateKey")
            }
        }
        var start: UnsafeMutablePointer<CChar>?
        let count = unsafe copenssl_bio_octets(bio, &start)
        guard count > 0, let start = unsafe start else { throw .openSSL("BIO_get_mem_data") }
        return unsafe try SecureBytes(capacity: count) { secret in
            unsafe secret.copyMemory(from: UnsafeRawBufferPointer(start: start, count: count))
            return count
        }
    }

    /// Of PBKDF2 with HMAC-SHA-256, which FIPS 140 allows, unlike scrypt. A passphrase from a file can be random, so that
    /// nobody guesses it; more would make each start slower.
    private static let iterations: Int32 = 100_000
}
