import COpenSSL
import CSecretMemory
import Crypto
import JOSE
import NativeSSO
import StrictCoding

/// An ES256 key in this process that swift-crypto signs with. Its private number lies in the locked heap, like those of
/// OpenSSL.
///
/// Between the other work of an exchange, a signature of OpenSSL takes half as long again as one of swift-crypto: it touches
/// more memory, and the verification of an ES256 id_token has brought swift-crypto's tables into the caches.
struct P256SigningKey: SigningKey, Redacted {
    let publicKey: JSONWebKey
    private let key: P256.Signing.PrivateKey

    init(_ key: EVPKey) throws(KeyError) {
        publicKey = try key.publicKey(.es256)
        let number = try key.privateNumber(width: 32)
        let read = unsafe number.withUnsafeBytes { number in
            csecretmemory_begin()
            defer { csecretmemory_end() }
            return unsafe try? P256.Signing.PrivateKey(rawRepresentation: number)
        }
        guard let read else { throw .cryptography("swift-crypto does not accept the private number of a key") }
        self.key = read
    }

    var algorithm: KeyAlgorithm { .es256 }
    var failure: KeyError? { nil }

    /// The signature in JWS form: RFC 7518 §3.4.
    func beginSignature(over message: [UInt8]) -> Pending<[UInt8], KeyError> {
        Pending { () throws(KeyError) in
            guard let signature = try? key.signature(for: SHA256.hash(octets: message[...])) else {
                throw .cryptography("swift-crypto could not sign")
            }
            return Array(signature.rawRepresentation)
        }
    }
}
