import CSecretMemory
import Crypto
import JOSE
import NativeSSO
import StrictCoding

/// An ES256 key in this process that swift-crypto signs with, on the caller's thread. Its private number lies in the locked heap,
/// like those of OpenSSL. With the FIPS provider, OpenSSL signs: ``EVPSigningKey``.
///
/// Between the other work of an exchange, a signature of OpenSSL takes 1.5 times as long as one of swift-crypto: it touches more
/// memory, and the verification of an ES256 id_token has brought swift-crypto's tables into the caches.
struct P256SigningKey: SigningKey, Redacted {
    let publicKey: JSONWebKey
    /// Never ask it for its public key: that copies the private number to the ordinary heap.
    private let key: P256.Signing.PrivateKey

    init(_ key: EVPKey) throws(KeyError) {
        // This also makes swift-crypto's constants of the curve, which shall not lie in the locked heap.
        publicKey = try key.publicKey(.es256)
        let number = try key.privateNumber(width: 32)
        defer { csecretmemory_wipe_stack() }
        let read = unsafe number.withUnsafeBytes { number in
            csecretmemory_begin()
            defer { csecretmemory_end() }
            return unsafe try? P256.Signing.PrivateKey(rawRepresentation: number)
        }
        // OpenSSL has checked the number.
        guard let read else { throw .cryptography("swift-crypto could not take a key: the locked heap may be full") }
        self.key = read
    }

    var algorithm: KeyAlgorithm { .es256 }
    var failure: KeyError? { nil }

    /// The signature in JWS form: RFC 7518 §3.4.
    func beginSignature(over message: [UInt8]) -> Pending<[UInt8], KeyError> {
        Pending { () throws(KeyError) in
            defer { csecretmemory_wipe_stack() }
            guard let signature = try? key.signature(for: SHA256.hash(octets: message[...])) else {
                throw .cryptography("swift-crypto could not sign")
            }
            return Array(signature.rawRepresentation)
        }
    }
}
