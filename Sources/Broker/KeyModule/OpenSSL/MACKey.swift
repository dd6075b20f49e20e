import COpenSSL
import StrictCoding

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
