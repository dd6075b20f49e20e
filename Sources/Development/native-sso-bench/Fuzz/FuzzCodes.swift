import Crypto
import StrictCoding

/// Authorization codes of the identity provider, made with a secret so that they cannot be forged.
struct FuzzCodes: Sendable {
    private let secret = SymmetricKey(size: .bits128)

    static let redirectURI = "com.example.app:/callback"
    /// Of every code. RFC 7636 §4.1.
    static let verifier = String(repeating: "v", count: 43)

    /// The code that was given for a login.
    func code(for sid: String) -> String {
        let check = HMAC<SHA256>.authenticationCode(for: Array(sid.utf8), using: secret)
        return "\(sid).\(Hexadecimal.encode(Array(check)[..<8]))"
    }

    /// Whose login a code was given for.
    func sid(of code: String) -> String? {
        let sid = String(code.prefix { $0 != "." })
        return self.code(for: sid) == code ? sid : nil
    }
}
