import Crypto
import StrictCoding

/// The `code_challenge` of an authorization request, RFC 7636, method S256 only.
struct CodeChallenge: Sendable {
    private let digest: [UInt8]

    /// nil unless `text` is a SHA-256 digest in base64url, which has 43 characters (§4.2).
    init?(_ text: String) {
        guard let digest = Base64URL.decode(text), digest.count == SHA256.byteCount else { return nil }
        self.digest = digest
    }

    /// Whether `verifier` is well formed (§4.1) and is what the challenge was made from (§4.6).
    func isMet(by verifier: String) -> Bool {
        guard (43...128).contains(verifier.utf8.count), verifier.utf8.allSatisfy(\.isUnreserved) else {
            return false
        }
        return ConstantTime.equal(Array(SHA256.hash(data: Array(verifier.utf8))), digest)
    }
}
