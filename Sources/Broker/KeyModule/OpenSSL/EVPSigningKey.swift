import COpenSSL
import JOSE
import NativeSSO
import StrictCoding

/// A signing key in this process.
///
/// It signs on the caller's thread, even an event loop. It computes without I/O or locks: about 260 µs for RS256. A separate
/// thread would only add two context switches.
///
/// `@unchecked Sendable`: `template` is set up once and then only copied; each signature uses its own copy. A copy
/// costs a tenth less than a new context, and unlike a shared context it needs no lock.
@safe final class EVPSigningKey: SigningKey, Redacted, @unchecked Sendable {
    let publicKey: JSONWebKey
    let algorithm: KeyAlgorithm
    private let key: EVPKey
    private let template: OpaquePointer
    private let longestSignature: Int

    init(_ key: EVPKey, algorithm: KeyAlgorithm) throws(KeyError) {
        publicKey = try key.publicKey(algorithm)
        guard let template = unsafe EVP_MD_CTX_new() else { throw .openSSL("EVP_MD_CTX_new") }
        guard unsafe Self.prepare(template, key, algorithm) else {
            unsafe EVP_MD_CTX_free(template)
            throw .openSSL("EVP_DigestSignInit")
        }
        self.key = key
        self.algorithm = algorithm
        unsafe self.template = template
        longestSignature = Int(unsafe EVP_PKEY_get_size(key.pointer))
    }

    deinit {
        unsafe EVP_MD_CTX_free(template)
    }

    var failure: KeyError? { nil }

    /// The signature in JWS form: RFC 7518 §3.3 to §3.5.
    func beginSignature(over message: [UInt8]) -> Pending<[UInt8], KeyError> {
        Pending { () throws(KeyError) in try sign(message) }
    }

    private func sign(_ message: [UInt8]) throws(KeyError) -> [UInt8] {
        guard let context = unsafe EVP_MD_CTX_new() else { throw .openSSL("EVP_MD_CTX_new") }
        defer { unsafe EVP_MD_CTX_free(context) }
        guard unsafe EVP_MD_CTX_copy_ex(context, template) == 1 else {
            throw .openSSL("EVP_MD_CTX_copy_ex")
        }
        var signature = [UInt8](repeating: 0, count: longestSignature)
        var count = longestSignature
        guard unsafe EVP_DigestSign(context, &signature, &count, message, message.count) == 1 else {
            throw .openSSL("EVP_DigestSign")
        }
        signature.removeSubrange(count...)
        let result: [UInt8]? =
            switch algorithm {
            case .es256: Self.concatenated(signature, width: 32)
            case .es384: Self.concatenated(signature, width: 48)
            case .rs256, .ps256, .edDSA, .hs256: signature
            }
        guard let result else { throw .openSSL("EVP_DigestSign") }
        return result
    }

    private static func prepare(_ context: OpaquePointer, _ key: EVPKey, _ algorithm: KeyAlgorithm) -> Bool {
        // Ed25519 hashes by itself.
        let digest =
            switch algorithm {
            case .es256, .rs256, .ps256, .hs256: unsafe EVP_sha256()
            case .es384: unsafe EVP_sha384()
            case .edDSA: unsafe OpaquePointer?.none
            }
        var parameters: OpaquePointer?
        guard unsafe EVP_DigestSignInit(context, &parameters, digest, nil, key.pointer) == 1 else { return false }
        // The default RSA padding is PKCS #1 v1.5, as RS256 requires (RFC 7518 §3.3). PS256: §3.5.
        guard algorithm == .ps256 else { return true }
        return unsafe EVP_PKEY_CTX_set_rsa_padding(parameters, RSA_PKCS1_PSS_PADDING) == 1
            && EVP_PKEY_CTX_set_rsa_pss_saltlen(parameters, RSA_PSS_SALTLEN_DIGEST) == 1
    }

    /// Converts a DER ECDSA-Sig-Value (RFC 3279 §2.2.3) to r ‖ s, `width` octets each (RFC 7518 §3.4). `nil` unless it is
    /// one.
    static func concatenated(_ der: [UInt8], width: Int) -> [UInt8]? {
        // All lengths are below 128, so each is one octet.
        guard der.count >= 2, der[0] == 0x30, der[1] < 0x80, Int(der[1]) == der.count - 2 else { return nil }
        var rest = der[2...]
        var octets: [UInt8] = []
        octets.reserveCapacity(2 * width)
        for _ in 0..<2 {
            guard rest.popFirst() == 0x02, let count = rest.popFirst().map(Int.init), count <= rest.count else {
                return nil
            }
            let number = rest.prefix(count).drop { $0 == 0 }
            // Positive, and with a zero only where the sign needs one.
            guard let first = number.first, number.count <= width, count - number.count == (first < 0x80 ? 0 : 1) else {
                return nil
            }
            octets.append(contentsOf: repeatElement(0, count: width - number.count))
            octets.append(contentsOf: number)
            rest = rest.dropFirst(count)
        }
        return rest.isEmpty ? octets : nil
    }
}
