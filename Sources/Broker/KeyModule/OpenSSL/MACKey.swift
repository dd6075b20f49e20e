import COpenSSL
package import NativeSSO
import StrictCoding

/// HMAC-SHA-256 without a key; each tag uses a copy. Looking up HMAC and SHA-256 by name for each tag, as OpenSSL's
/// `HMAC` does, costs as much as the tag.
///
/// `@unchecked Sendable`: set up once, then only copied.
@safe final class HMACTemplate: @unchecked Sendable {
    private let context: OpaquePointer

    /// `nil` if OpenSSL lacks the algorithm.
    static let sha256 = HMACTemplate()

    private init?() {
        guard let algorithm = unsafe EVP_MAC_fetch(nil, "HMAC", nil) else { return nil }
        defer { unsafe EVP_MAC_free(algorithm) }
        guard let context = unsafe EVP_MAC_CTX_new(algorithm) else { return nil }
        var digest = Array("SHA256".utf8CString)
        let isSet = unsafe digest.withUnsafeMutableBufferPointer { digest in
            let parameters = unsafe [
                OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest.baseAddress, 0),
                OSSL_PARAM_construct_end(),
            ]
            return unsafe EVP_MAC_CTX_set_params(context, parameters) == 1
        }
        guard isSet else {
            unsafe EVP_MAC_CTX_free(context)
            return nil
        }
        unsafe self.context = context
    }

    deinit {
        unsafe EVP_MAC_CTX_free(context)
    }

    /// The tag of `message`; `nil` if OpenSSL fails. Freeing the copy overwrites the key in it.
    func tag(_ message: [UInt8], key: UnsafeRawBufferPointer) -> [UInt8]? {
        guard let copy = unsafe EVP_MAC_CTX_dup(context) else { return nil }
        defer { unsafe EVP_MAC_CTX_free(copy) }
        var tag = [UInt8](repeating: 0, count: 32)
        var count = 0
        guard unsafe EVP_MAC_init(copy, key.baseAddress?.assumingMemoryBound(to: UInt8.self), key.count, nil) == 1,
            unsafe EVP_MAC_update(copy, message, message.count) == 1,
            unsafe EVP_MAC_final(copy, &tag, &count, tag.count) == 1, count == 32
        else { return nil }
        return tag
    }
}

/// A key for HMAC-SHA-256, RFC 2104.
///
/// Uses OpenSSL, because swift-crypto would copy the key into the ordinary heap; here it stays in the locked heap
/// (``SecureBytes``). This costs less than a microsecond per tag.
package struct MACKey: MessageAuthenticator, Redacted {
    private let secret: SecureBytes

    static let count = 32

    /// - Parameter path: The file with the key, for error messages.
    init(_ secret: SecureBytes, path: String) throws(KeyError) {
        guard secret.count == Self.count else { throw .file(path: path, .wrongLength(octets: secret.count)) }
        self.secret = secret
    }

    static func generate() throws(KeyError) -> SecureBytes {
        unsafe try SecureBytes(capacity: count) { secret throws(KeyError) in
            let start = unsafe secret.baseAddress?.assumingMemoryBound(to: UInt8.self)
            guard unsafe RAND_priv_bytes(start, Int32(count)) == 1 else {
                throw .openSSL("RAND_priv_bytes")
            }
            return count
        }
    }

    /// The tag of `message`, 32 octets.
    private func code(of message: [UInt8]) throws(KeyError) -> [UInt8] {
        let tag = unsafe secret.withUnsafeBytes { secret in unsafe HMACTemplate.sha256?.tag(message, key: secret) }
        guard let tag else { throw .openSSL("EVP_MAC") }
        return tag
    }

    package func beginTag(_ message: [UInt8]) -> Pending<[UInt8], KeyError> {
        Pending { () throws(KeyError) in try code(of: message) }
    }

    /// Its tag names a key, in a file or in a token.
    static let checkMessage = Array("native-sso key check value".utf8)

    /// Identifies the key without revealing it, so that brokers with different files notice. The tag of a fixed text
    /// in base64url.
    func checkValue() throws(KeyError) -> String {
        Base64URL.encode(try code(of: Self.checkMessage))
    }
}
