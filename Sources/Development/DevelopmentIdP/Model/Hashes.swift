import Crypto
import StrictCoding

/// The "left-side hash" of `at_hash`, `di_hash` and `ds_hash`, OpenID Connect Core §3.1.3.6.
enum LeftHalfHash {
    /// base64url of the left half of SHA-256 over the ASCII octets of `value`: 22 characters.
    ///
    /// The hash belongs to the `alg` of the id_token. Both algorithms that this provider signs with end in 256.
    static func ofSHA256(_ value: String) -> String {
        Base64URL.encode(Array(SHA256.hash(data: Array(value.utf8))).prefix(16))
    }
}

/// How the provider computes `ds_hash`, which no draft defines; providers in the field differ. The names are those of the broker's
/// `hash_mode`.
package enum DeviceSecretHash: String, Sendable, CaseIterable {
    /// As `at_hash`.
    case leftHalf = "left_half"
    /// base64url of all of SHA-256.
    case fullSHA256 = "full_sha256_b64url"
    /// Lower-case hexadecimal of all of SHA-256.
    case fullSHA256Hex = "full_sha256_hex"

    func hash(_ secret: String) -> String {
        let digest = Array(SHA256.hash(data: Array(secret.utf8)))
        return switch self {
        case .leftHalf: LeftHalfHash.ofSHA256(secret)
        case .fullSHA256: Base64URL.encode(digest)
        case .fullSHA256Hex: Hexadecimal.encode(digest)
        }
    }
}

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

/// Unguessable values: codes, tokens, cookies, device secrets.
enum RandomToken {
    /// 32 octets from the operating system's generator, as 43 base64url characters.
    static func make() -> String {
        var generator = SystemRandomNumberGenerator()
        let octets = (0..<4).flatMap { _ in
            withUnsafeBytes(of: generator.next() as UInt64) { Array($0) }
        }
        return Base64URL.encode(octets)
    }
}

/// The `device_id` of the 2018 profile: what the app made up before its first login and proves the device with later.
struct DeviceIdentifier: Sendable, CustomStringConvertible, CustomReflectable {
    /// Its `di_hash`, which is all that is kept of it.
    let hash: String

    /// nil unless `text` has 22 to 512 printable ASCII characters. 22 base64url characters hold 128 bits: the unsalted hash
    /// travels in the id_token, so anything that can be guessed could be tested against it.
    init?(_ text: String) {
        guard (22...512).contains(text.utf8.count), text.utf8.allSatisfy({ (0x20...0x7e).contains($0) }) else {
            return nil
        }
        hash = LeftHalfHash.ofSHA256(text)
    }

    var description: String { "****" }
    var customMirror: Mirror { Mirror(self, children: [:]) }
}
