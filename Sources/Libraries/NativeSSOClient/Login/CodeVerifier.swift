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
        guard (43...128).contains(text.utf8.count), text.utf8.allSatisfy(\.isUnreserved) else { return nil }
        self.text = text
    }

    /// `code_challenge` for the method S256, §4.2.
    public var challenge: String {
        Base64URL.encode(Array(SHA256.hash(data: Array(text.utf8))))
    }

    public var description: String { "****" }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
