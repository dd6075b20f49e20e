import COpenSSL

/// Unencrypted PKCS #8 private keys in PEM, one per file. RFC 7468 §10.
enum PrivateKeyPEM {
    static func decode(_ text: SecureBytes) throws(KeyFileDefect) -> EVPKey {
        unsafe try text.withUnsafeBytes { text throws(KeyFileDefect) in
            guard let bio = unsafe BIO_new_mem_buf(text.baseAddress, Int32(clamping: text.count)) else {
                throw .unreadablePEM
            }
            defer { unsafe BIO_free(bio) }
            let key = unsafe try decode(bio)
            guard unsafe BIO_ctrl_pending(bio) == 0 else { throw .trailingOctets }
            return key
        }
    }

    private static func decode(_ bio: OpaquePointer) throws(KeyFileDefect) -> EVPKey {
        var label: UnsafeMutablePointer<CChar>?
        var header: UnsafeMutablePointer<CChar>?
        var der: UnsafeMutablePointer<UInt8>?
        var count = 0
        guard unsafe PEM_read_bio_ex(bio, &label, &header, &der, &count, UInt32(PEM_FLAG_SECURE)) == 1 else {
            ERR_clear_error()
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
        guard unsafe header.map({ unsafe strlen($0) == 0 }) ?? true, label != "ENCRYPTED PRIVATE KEY" else {
            throw .encryptedPEM
        }
        guard label == "PRIVATE KEY" else { throw .notPKCS8(label: label) }
        return unsafe try decode(der, count)
    }

    private static func decode(_ der: UnsafePointer<UInt8>, _ count: Int) throws(KeyFileDefect) -> EVPKey {
        var next: UnsafePointer<UInt8>? = unsafe der
        guard let info = unsafe d2i_PKCS8_PRIV_KEY_INFO(nil, &next, count) else {
            ERR_clear_error()
            throw .unreadablePEM
        }
        defer { unsafe PKCS8_PRIV_KEY_INFO_free(info) }
        guard unsafe next == der + count, let key = unsafe EVP_PKCS82PKEY(info) else {
            ERR_clear_error()
            throw .unreadablePEM
        }
        return unsafe EVPKey(owning: key)
    }

    static func encode(_ key: EVPKey) throws(KeyError) -> SecureBytes {
        guard let bio = unsafe BIO_new(BIO_s_secmem()) else { throw .openSSL("BIO_new") }
        defer { unsafe BIO_free(bio) }
        guard unsafe PEM_write_bio_PKCS8PrivateKey(bio, key.pointer, nil, nil, 0, nil, nil) == 1 else {
            throw .openSSL("PEM_write_bio_PKCS8PrivateKey")
        }
        var start: UnsafeMutablePointer<CChar>?
        let count = unsafe copenssl_bio_octets(bio, &start)
        guard count > 0, let start = unsafe start else { throw .openSSL("BIO_get_mem_data") }
        return unsafe try SecureBytes(capacity: count) { secret in
            unsafe secret.copyMemory(from: UnsafeRawBufferPointer(start: start, count: count))
            return count
        }
    }
}
