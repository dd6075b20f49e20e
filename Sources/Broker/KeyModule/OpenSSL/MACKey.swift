import COpenSSL
import StrictCoding

/// HMAC-SHA-256 before it has a key: each tag works on a copy. To look HMAC and SHA-256 up by name for every tag, as
/// OpenSSL's `HMAC` does, costs as much as the tag.
///
/// Sendable: set up once and only copied from afterwards.
@safe final class HMACTemplate: @unchecked Sendable {
    private let context: OpaquePointer

    /// `nil` if OpenSSL does not have it.
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

    /// The tag of `message`; `nil` where OpenSSL makes none. The copy, which has the key, is overwritten and freed.
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
/// Through OpenSSL, not swift-crypto: the key then stays in the locked heap (``SecureBytes``), from which each call
/// takes it; swift-crypto keeps a copy of it in the ordinary heap. The price is less than a microsecond a tag.
public struct MACKey: Sendable, CustomStringConvertible, CustomReflectable {
    private let secret: SecureBytes

    static let count = 32

    /// - Parameter path: The file that `secret` stands in.
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

    /// 32 octets.
    func tag(_ message: [UInt8]) throws(KeyError) -> [UInt8] {
        let tag = unsafe secret.withUnsafeBytes { secret in unsafe HMACTemplate.sha256?.tag(message, key: secret) }
        guard let tag else { throw .openSSL("EVP_MAC") }
        return tag
    }

    /// Names the key without betraying it: brokers whose files differ notice. The tag of a fixed text, base64url.
    func checkValue() throws(KeyError) -> String {
        Base64URL.encode(try tag(Array("native-sso key check value".utf8)))
    }

    public var description: String { "****" }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
