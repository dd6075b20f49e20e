import Crypto
import StrictCoding

/// The secret of one login attempt, RFC 7636. Kept in memory and sent to the token endpoint only. Prints as `****`.
public struct CodeVerifier: Sendable, CustomStringConvertible, CustomReflectable {
    /// 43 to 128 characters, §4.1.
    public let text: String

    /// 32 random octets as 43 characters.
    public init() {
        text = RandomText.make()
    }

    /// nil unless `text` has 43 to 128 unreserved characters.
    public init?(_ text: String) {
        guard (43...128).contains(text.utf8.count), text.utf8.allSatisfy(Self.isUnreserved) else { return nil }
        self.text = text
    }

    /// `code_challenge` for the method S256, §4.2.
    public var challenge: String {
        Base64URL.encode(Array(SHA256.hash(data: Array(text.utf8))))
    }

    private static func isUnreserved(_ octet: UInt8) -> Bool {
        switch octet {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "-._~".utf8.contains(octet)
        }
    }

    public var description: String { "****" }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
