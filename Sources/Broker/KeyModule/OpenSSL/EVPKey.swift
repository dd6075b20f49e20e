import COpenSSL
import JOSE
import NativeSSO
import StrictCoding

/// Owns one `EVP_PKEY` with its private part.
///
/// `@unchecked Sendable`: the key is not changed after `init`. OpenSSL allows concurrent use of an unchanged key; it
/// guards its internal caches itself.
@safe final class EVPKey: @unchecked Sendable {
    let pointer: OpaquePointer

    /// Takes ownership.
    init(owning pointer: OpaquePointer) {
        unsafe self.pointer = pointer
    }

    deinit {
        unsafe EVP_PKEY_free(pointer)
    }

    /// - Parameter modulusBits: Only for RSA.
    static func generate(_ algorithm: KeyAlgorithm, modulusBits: Int) throws(KeyError) -> EVPKey {
        SecureHeap.prepare()
        let key: OpaquePointer?
        switch algorithm {
        case .es256: unsafe key = copenssl_generate_ec("P-256")
        case .es384: unsafe key = copenssl_generate_ec("P-384")
        case .edDSA: unsafe key = copenssl_generate_ed25519()
        case .rs256, .ps256: unsafe key = copenssl_generate_rsa(UInt32(clamping: modulusBits))
        case .hs256: throw .algorithmDoesNotFit(algorithm, .accessToken)
        }
        guard let key = unsafe key else { throw .openSSL("key generation") }
        return unsafe EVPKey(owning: key)
    }

    func isA(_ type: String) -> Bool { unsafe EVP_PKEY_is_a(pointer, type) == 1 }

    var bits: Int { Int(unsafe EVP_PKEY_get_bits(pointer)) }

    /// OpenSSL's name of the curve; nil for a key without one.
    var curve: String? {
        var name = [CChar](repeating: 0, count: 64)
        var count = 0
        guard unsafe EVP_PKEY_get_group_name(pointer, &name, name.count, &count) == 1 else {
            ERR_clear_error()
            return nil
        }
        return String(decoding: name.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// Whether the private and public parts match and are valid (primes, a point on the curve).
    var isConsistent: Bool {
        guard let context = unsafe EVP_PKEY_CTX_new_from_pkey(nil, pointer, nil) else {
            ERR_clear_error()
            return false
        }
        defer { unsafe EVP_PKEY_CTX_free(context) }
        let isConsistent = unsafe EVP_PKEY_check(context) == 1
        if !isConsistent { ERR_clear_error() }
        return isConsistent
    }

    /// A public number of the key, big-endian, padded to `width` if given.
    func number(_ name: String, width: Int? = nil) throws(KeyError) -> [UInt8] {
        var number: OpaquePointer?
        guard unsafe EVP_PKEY_get_bn_param(pointer, name, &number) == 1, let number = unsafe number else {
            throw .openSSL("EVP_PKEY_get_bn_param")
        }
        defer { unsafe BN_free(number) }
        let count = width ?? (Int(unsafe BN_num_bits(number)) + 7) / 8
        var octets = [UInt8](repeating: 0, count: count)
        guard unsafe BN_bn2binpad(number, &octets, Int32(clamping: count)) >= 0 else {
            throw .openSSL("BN_bn2binpad")
        }
        return octets
    }
}

extension EVPKey {
    /// The private number of a key on a curve, big-endian, padded to `width`.
    func privateNumber(width: Int) throws(KeyError) -> SecureBytes {
        unsafe try SecureBytes(capacity: width) { number throws(KeyError) in
            var parameters = unsafe [
                OSSL_PARAM_construct_BN(OSSL_PKEY_PARAM_PRIV_KEY, number.baseAddress, number.count),
                OSSL_PARAM_construct_end(),
            ]
            guard unsafe EVP_PKEY_get_params(pointer, &parameters) == 1,
                unsafe parameters[0].return_size == number.count
            else { throw .openSSL("EVP_PKEY_get_params") }
            // OpenSSL writes it in the order of this machine.
            var octets = unsafe number
            if 1.littleEndian == 1 { unsafe octets.reverse() }
            return number.count
        }
    }
}

extension EVPKey {
    /// Supported modulus lengths in bits. RFC 7518 §3.3 requires at least 2048.
    static let modulusBits = 2048...8192

    /// Validates the key and its fitness for `algorithm`.
    func check(for algorithm: KeyAlgorithm) throws(KeyFileDefect) {
        let possible = try algorithms
        guard isConsistent else { throw .inconsistentKey }
        guard possible.contains(algorithm) else { throw .wrongAlgorithm(possible[0], expected: algorithm) }
    }

    /// The algorithms that a key of this kind can serve.
    var algorithms: [KeyAlgorithm] {
        get throws(KeyFileDefect) {
            if isA("EC") {
                switch curve {
                case "prime256v1": return [.es256]
                case "secp384r1": return [.es384]
                case let other: throw .wrongCurve(other ?? "unnamed")
                }
            }
            if isA("ED25519") { return [.edDSA] }
            guard isA("RSA") else { throw .unsupportedKey }
            guard Self.modulusBits.contains(bits) else { throw .wrongModulus(bits: bits) }
            return [.rs256, .ps256]
        }
    }
}

extension EVPKey {
    /// The public key; its `kid` is its RFC 7638 thumbprint.
    func publicKey(_ algorithm: KeyAlgorithm) throws(KeyError) -> JSONWebKey {
        try JSONWebKey(signing: try publicParameters(algorithm), algorithm)
    }

    private func publicParameters(_ algorithm: KeyAlgorithm) throws(KeyError) -> JSONWebKey.Parameters {
        switch algorithm {
        case .es256: .ec(.p256, x: try number("qx", width: 32), y: try number("qy", width: 32))
        case .es384: .ec(.p384, x: try number("qx", width: 48), y: try number("qy", width: 48))
        case .edDSA: .ed25519(try rawPublicKey)
        case .rs256, .ps256: .rsa(modulus: try number("n"), exponent: try number("e"))
        case .hs256: throw .algorithmDoesNotFit(algorithm, .accessToken)
        }
    }

    /// Of an Ed25519 key. RFC 8032 §5.1.5.
    private var rawPublicKey: [UInt8] {
        get throws(KeyError) {
            var octets = [UInt8](repeating: 0, count: 32)
            var count = octets.count
            guard unsafe EVP_PKEY_get_raw_public_key(pointer, &octets, &count) == 1, count == octets.count else {
                throw .openSSL("EVP_PKEY_get_raw_public_key")
            }
            return octets
        }
    }
}

extension JSONWebKey {
    /// A key of this broker; its `kid` is its RFC 7638 thumbprint.
    init(signing parameters: Parameters, _ algorithm: KeyAlgorithm) throws(KeyError) {
        do throws(JSONWebKeyError) {
            let thumbprint = Base64URL.encode(try JSONWebKey(parameters).thumbprint)
            self = try JSONWebKey(
                parameters, keyID: thumbprint, algorithm: SignatureAlgorithm(name: algorithm.rawValue))
        } catch {
            throw .cryptography("no JWK can be made of the public key: \(error)")
        }
    }
}
