import COpenSSL
import JOSE
import NativeSSO
import StrictCoding

/// A signing key in AWS KMS. After a failure it tries a signature at distances of at most 4 s: see ``OutageCircuit``.
final class KMSSigningKey: SigningKey {
    let publicKey: JSONWebKey
    let algorithm: KeyAlgorithm
    private let id: String
    private let kind: KMSKeyKind
    private let client: KMSClient
    private let outage = OutageCircuit(longestPause: .seconds(4))

    /// Fetches the public key, and checks by one signature that the credentials may sign with the private one.
    init(_ id: String, _ algorithm: KeyAlgorithm, _ kind: KMSKeyKind, _ client: KMSClient) async throws(KeyError) {
        publicKey = try await Self.publicKey(id, algorithm, kind, client)
        self.algorithm = algorithm
        self.id = id
        self.kind = kind
        self.client = client
        try await sign()
    }

    static func publicKey(
        _ id: String, _ algorithm: KeyAlgorithm, _ kind: KMSKeyKind, _ client: KMSClient
    ) async throws(KeyError) -> JSONWebKey {
        guard KMSReference.isKeyID(id) else { throw .badReference(KMSReference.prefix + id) }
        let answer = try await client.call("GetPublicKey", about: id) { json in json.member("KeyId", id) }
        guard let der = answer.string("PublicKey").flatMap({ Base64.decode($0) }),
            let names = answer.strings("SigningAlgorithms")
        else { throw client.nonsense("no PublicKey of a key") }
        guard names.contains(where: { kind.name.hasSameOctets(as: $0) }) else {
            throw .kms(.wrongKind(id, expected: algorithm.rawValue))
        }
        guard let key = EVPKey(subjectPublicKeyInfo: der), (try? key.algorithms.contains(algorithm)) == true else {
            throw client.nonsense("a PublicKey that is not for \(algorithm.rawValue)")
        }
        return try key.publicKey(algorithm)
    }

    /// Makes a signature and verifies it. It is not used for anything else.
    private func sign() async throws(KeyError) {
        let message = Array("native-sso key check".utf8)
        let signature = try await signatureOfKMS(message)
        guard let name = publicKey.algorithm, publicKey.verifies(signature, of: message, algorithm: name) else {
            throw client.nonsense("a signature that the public key does not verify")
        }
    }

    var failure: KeyError? { outage.failure }

    func beginSignature(over message: [UInt8]) -> Pending<[UInt8], KeyError> {
        if let failure { return .done(.failure(failure)) }
        let task = Task { [self] () -> Result<[UInt8], KeyError> in
            do throws(KeyError) {
                return .success(try await signatureOfKMS(message))
            } catch {
                outage.open(error, of: self) { key throws(KeyError) in try await key.sign() }
                return .failure(error)
            }
        }
        return .coming { await task.value }
    }

    private func signatureOfKMS(_ message: [UInt8]) async throws(KeyError) -> [UInt8] {
        let digest = Base64.encode(kind.hash.digest(message))
        let answer = try await client.call("Sign", about: id) { json in
            json.member("KeyId", id)
            json.member("Message", digest)
            json.member("MessageType", "DIGEST")
            json.member("SigningAlgorithm", kind.name)
        }
        guard let signature = answer.string("Signature").flatMap({ Base64.decode($0) }) else {
            throw client.nonsense("no Signature")
        }
        guard let width = kind.width else { return signature }
        guard let octets = EVPSigningKey.concatenated(signature, width: width) else {
            throw client.nonsense("a Signature that is not DER")
        }
        return octets
    }
}

extension EVPKey {
    /// `nil` unless the octets are one public key, RFC 5280 §4.1.2.7.
    fileprivate convenience init?(subjectPublicKeyInfo der: [UInt8]) {
        let key = unsafe der.withUnsafeBufferPointer { der in
            var next = der.baseAddress
            return unsafe d2i_PUBKEY(nil, &next, der.count)
        }
        guard let key = unsafe key else {
            ERR_clear_error()
            return nil
        }
        unsafe self.init(owning: key)
    }
}
