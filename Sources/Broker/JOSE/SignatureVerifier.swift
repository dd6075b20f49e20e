package import Crypto
import CryptoExtras
import FoundationEssentials

/// A public key in swift-crypto's form, created once per key.
enum SignatureVerifier: Sendable {
    case rsa(_RSA.Signing.PublicKey, signatureCount: Int)
    case p256(P256.Signing.PublicKey)
    case p384(P384.Signing.PublicKey)
    case p521(P521.Signing.PublicKey)
    case ed25519(Curve25519.Signing.PublicKey)

    init(_ parameters: JSONWebKey.Parameters) throws(JSONWebKeyError) {
        switch parameters {
        case .rsa(let modulus, let exponent):
            self = .rsa(try Self.rsa(modulus, exponent), signatureCount: modulus.count)
        case .ec(let curve, let x, let y):
            guard x.count == curve.coordinateCount, y.count == curve.coordinateCount else { throw .malformedMember }
            let point = [4] + x + y  // SEC 1 §2.3.3, uncompressed; reading it checks that it lies on the curve
            do {
                switch curve {
                case .p256: self = .p256(try P256.Signing.PublicKey(x963Representation: point))
                case .p384: self = .p384(try P384.Signing.PublicKey(x963Representation: point))
                case .p521: self = .p521(try P521.Signing.PublicKey(x963Representation: point))
                }
            } catch {
                throw .invalidPoint
            }
        case .ed25519(let x):
            guard x.count == 32 else { throw .malformedMember }
            do {
                self = .ed25519(try Curve25519.Signing.PublicKey(rawRepresentation: x))
            } catch {
                throw .invalidPoint
            }
        }
    }

    private static func rsa(_ modulus: [UInt8], _ exponent: [UInt8]) throws(JSONWebKeyError) -> _RSA.Signing.PublicKey {
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
            return try _RSA.Signing.PublicKey(n: modulus, e: exponent)
        } catch {
            throw .weakKey
        }
    }

    /// Returns false if `algorithm` does not fit the key.
    func verifies(_ signature: [UInt8], of message: ArraySlice<UInt8>, algorithm: SignatureAlgorithm) -> Bool {
        switch (self, algorithm) {
        case (.rsa(let key, let count), _):
            // RFC 8017 §8.1.2, §8.2.2, step 1
            signature.count == count && Self.verifies(signature, of: message, key, algorithm)
        case (.p256(let key), .es256):
            Self.isSplit(signature, .p256)
                && (try? P256.Signing.ECDSASignature(rawRepresentation: signature))
                    .map { key.isValidSignature($0, for: SHA256.hash(octets: message)) } == true
        case (.p384(let key), .es384):
            Self.isSplit(signature, .p384)
                && (try? P384.Signing.ECDSASignature(rawRepresentation: signature))
                    .map { key.isValidSignature($0, for: SHA384.hash(octets: message)) } == true
        case (.p521(let key), .es512):
            Self.isSplit(signature, .p521)
                && (try? P521.Signing.ECDSASignature(rawRepresentation: signature))
                    .map { key.isValidSignature($0, for: SHA512.hash(octets: message)) } == true
        case (.ed25519(let key), .edDSA), (.ed25519(let key), .ed25519):
            signature.count == 64 && key.isValidSignature(signature, for: message)
        default: false
        }
    }

    private static func verifies(
        _ signature: [UInt8], of message: ArraySlice<UInt8>, _ key: _RSA.Signing.PublicKey,
        _ algorithm: SignatureAlgorithm
    ) -> Bool {
        let signature = _RSA.Signing.RSASignature(rawRepresentation: signature)
        return switch algorithm {
        case .rs256: key.isValidSignature(signature, for: SHA256.hash(octets: message), padding: .insecurePKCS1v1_5)
        case .rs384: key.isValidSignature(signature, for: SHA384.hash(octets: message), padding: .insecurePKCS1v1_5)
        case .rs512: key.isValidSignature(signature, for: SHA512.hash(octets: message), padding: .insecurePKCS1v1_5)
        case .ps256: key.isValidSignature(signature, for: SHA256.hash(octets: message), padding: .PSS)
        case .ps384: key.isValidSignature(signature, for: SHA384.hash(octets: message), padding: .PSS)
        case .ps512: key.isValidSignature(signature, for: SHA512.hash(octets: message), padding: .PSS)
        case .es256, .es384, .es512, .edDSA, .ed25519: false
        }
    }

    /// Whether an ECDSA signature is `r` followed by `s`, each as long as the field (RFC 7518 §3.4) and not zero.
    ///
    /// BoringSSL refuses r and s outside 1..<order. This check for zero is a second defence: a library without it
    /// accepted an all-zero signature for every message (CVE-2022-21449).
    private static func isSplit(_ signature: [UInt8], _ curve: JSONWebKey.Curve) -> Bool {
        guard signature.count == 2 * curve.coordinateCount else { return false }
        return signature.prefix(curve.coordinateCount).contains { $0 != 0 }
            && signature.suffix(curve.coordinateCount).contains { $0 != 0 }
    }
}

extension HashFunction {
    /// `hash(data:)` without its generic loop over regions, which takes as long as a short hash.
    package static func hash(octets: ArraySlice<UInt8>) -> Digest {
        var function = Self()
        octets.withUnsafeBytes { function.update(bufferPointer: $0) }
        return function.finalize()
    }
}
