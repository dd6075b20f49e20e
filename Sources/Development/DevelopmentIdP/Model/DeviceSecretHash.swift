import Crypto
import StrictCoding

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
