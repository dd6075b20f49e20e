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
