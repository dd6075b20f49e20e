import Crypto
import CryptoExtras
import FoundationEssentials

/// A public key in swift-crypto's form, created once per key.
protocol SignatureVerifier: Sendable {
    /// Returns false if `algorithm` does not fit the key.
    func verifies(_ signature: [UInt8], of message: [UInt8], algorithm: SignatureAlgorithm) -> Bool
}

extension JSONWebKey.Parameters {
    func verifier() throws(JSONWebKeyError) -> any SignatureVerifier {
        switch self {
        case .rsa(let modulus, let exponent):
            return try RSAVerifier(modulus: modulus, exponent: exponent)
        case .ec(let curve, let x, let y):
            guard x.count == curve.coordinateCount, y.count == curve.coordinateCount else { throw .malformedMember }
            let point = [4] + x + y  // SEC 1 §2.3.3, uncompressed; reading it checks that it lies on the curve
            do {
                switch curve {
                case .p256: return P256Verifier(key: try P256.Signing.PublicKey(x963Representation: point))
                case .p384: return P384Verifier(key: try P384.Signing.PublicKey(x963Representation: point))
                case .p521: return P521Verifier(key: try P521.Signing.PublicKey(x963Representation: point))
                }
            } catch {
                throw .invalidPoint
            }
        case .ed25519(let x):
            guard x.count == 32 else { throw .malformedMember }
            do {
                return Ed25519Verifier(key: try Curve25519.Signing.PublicKey(rawRepresentation: x))
            } catch {
                throw .invalidPoint
            }
        }
    }
}

private struct RSAVerifier: SignatureVerifier {
    private let key: _RSA.Signing.PublicKey
    private let signatureCount: Int

    init(modulus: [UInt8], exponent: [UInt8]) throws(JSONWebKeyError) {
        // RFC 7518 §6.3.1 forbids leading zeros: one key would have many forms and thumbprints.
        guard let first = modulus.first, first != 0, let last = modulus.last else { throw .malformedMember }
        guard exponent.first != 0, let lastOfExponent = exponent.last else { throw .malformedMember }
        let bits = modulus.count * 8 - first.leadingZeroBitCount
        guard bits >= JSONWebKey.smallestModulus, bits <= JSONWebKey.largestModulus, last & 1 == 1 else {
            throw .weakKey
        }
        // FIPS 186-5 §5.4: odd and above 2^16. More than 32 bits only make verification slower.
        guard (3...4).contains(exponent.count), lastOfExponent & 1 == 1 else { throw .weakKey }
        guard !ROCAFingerprint.matches(modulus: modulus) else { throw .weakKey }
        do {
            key = try _RSA.Signing.PublicKey(n: modulus, e: exponent)
        } catch {
            throw .weakKey
        }
        signatureCount = modulus.count
    }

    func verifies(_ signature: [UInt8], of message: [UInt8], algorithm: SignatureAlgorithm) -> Bool {
        guard signature.count == signatureCount else { return false }  // RFC 8017 §8.1.2, §8.2.2, step 1
        let signature = _RSA.Signing.RSASignature(rawRepresentation: signature)
        return switch algorithm {
        case .rs256: key.isValidSignature(signature, for: SHA256.hash(data: message), padding: .insecurePKCS1v1_5)
        case .rs384: key.isValidSignature(signature, for: SHA384.hash(data: message), padding: .insecurePKCS1v1_5)
        case .rs512: key.isValidSignature(signature, for: SHA512.hash(data: message), padding: .insecurePKCS1v1_5)
        case .ps256: key.isValidSignature(signature, for: SHA256.hash(data: message), padding: .PSS)
        case .ps384: key.isValidSignature(signature, for: SHA384.hash(data: message), padding: .PSS)
        case .ps512: key.isValidSignature(signature, for: SHA512.hash(data: message), padding: .PSS)
        case .es256, .es384, .es512, .edDSA, .ed25519: false
        }
    }
}

/// An ECDSA signature is `r` followed by `s`, each as long as the field: RFC 7518 §3.4.
///
/// BoringSSL refuses r and s outside 1..<order. This check for zero is a second defence: a library without it
/// accepted an all-zero signature for every message (CVE-2022-21449).
private func splits(_ signature: [UInt8], _ curve: JSONWebKey.Curve) -> Bool {
    guard signature.count == 2 * curve.coordinateCount else { return false }
    return signature.prefix(curve.coordinateCount).contains { $0 != 0 }
        && signature.suffix(curve.coordinateCount).contains { $0 != 0 }
}

private struct P256Verifier: SignatureVerifier {
    let key: P256.Signing.PublicKey

    func verifies(_ signature: [UInt8], of message: [UInt8], algorithm: SignatureAlgorithm) -> Bool {
        guard algorithm == .es256, splits(signature, .p256),
            let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature)
        else { return false }
        return key.isValidSignature(signature, for: SHA256.hash(data: message))
    }
}

private struct P384Verifier: SignatureVerifier {
    let key: P384.Signing.PublicKey

    func verifies(_ signature: [UInt8], of message: [UInt8], algorithm: SignatureAlgorithm) -> Bool {
        guard algorithm == .es384, splits(signature, .p384),
            let signature = try? P384.Signing.ECDSASignature(rawRepresentation: signature)
        else { return false }
        return key.isValidSignature(signature, for: SHA384.hash(data: message))
    }
}

private struct P521Verifier: SignatureVerifier {
    let key: P521.Signing.PublicKey

    func verifies(_ signature: [UInt8], of message: [UInt8], algorithm: SignatureAlgorithm) -> Bool {
        guard algorithm == .es512, splits(signature, .p521),
            let signature = try? P521.Signing.ECDSASignature(rawRepresentation: signature)
        else { return false }
        return key.isValidSignature(signature, for: SHA512.hash(data: message))
    }
}

private struct Ed25519Verifier: SignatureVerifier {
    let key: Curve25519.Signing.PublicKey

    func verifies(_ signature: [UInt8], of message: [UInt8], algorithm: SignatureAlgorithm) -> Bool {
        guard signature.count == 64 else { return false }
        return key.isValidSignature(signature, for: message)
    }
}
