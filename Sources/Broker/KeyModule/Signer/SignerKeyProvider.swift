package import JOSE
package import NativeSSO
import StrictCoding

/// Keys that the signer process uses for this broker. No private key is in this process.
package struct SignerKeyProvider: KeyProvider {
    private let client: SignerClient

    package init(_ client: SignerClient) { self.client = client }

    package func check() throws(KeyError) {}

    package func generateSigningKey(_ algorithm: KeyAlgorithm, modulusBits: Int) throws(KeyError) -> GeneratedKey {
        throw .signer(.readOnly)
    }

    package func generateRefreshTokenKey(id: UInt8) throws(KeyError) -> GeneratedKey { throw .signer(.readOnly) }

    package func generateDeviceKey() throws(KeyError) -> GeneratedKey { throw .signer(.readOnly) }

    package func destroy(_ record: KeyRecord) throws(KeyError) { throw .signer(.readOnly) }

    package func protection(of record: KeyRecord) async throws(KeyError) -> String {
        _ = try await client.begin(.load, key: SignerProtocol.name(of: record)).value
        return "in the signer process"
    }

    package func signingKey(_ record: KeyRecord) async throws(KeyError) -> any SigningKey {
        SignerSigningKey(
            try await publicKey(record), record.algorithm, SignerProtocol.name(of: record), client)
    }

    package func publicKey(_ record: KeyRecord) async throws(KeyError) -> JSONWebKey {
        let name = SignerProtocol.name(of: record)
        let json = try await client.begin(.load, key: name).value
        guard let object = try? JSONReader.parse(json).object, let key = try? JSONWebKey(object) else {
            throw .signer(.nonsense("a result that is not a public key"))
        }
        let kid = Base64URL.encode(key.thumbprint)
        guard kid.hasSameOctets(as: record.kid), key.keyID.map({ $0.hasSameOctets(as: kid) }) == true,
            key.algorithm == SignatureAlgorithm(name: record.algorithm.rawValue)
        else { throw .otherKey(path: record.reference, expected: record.kid, found: kid) }
        return key
    }

    package func macKey(_ record: KeyRecord) async throws(KeyError) -> any MessageAuthenticator {
        guard record.use != .accessToken else { throw .algorithmDoesNotFit(record.algorithm, record.use) }
        let name = SignerProtocol.name(of: record)
        _ = try await client.begin(.load, key: name).value
        return SignerMACKey(name: name, client: client)
    }
}

struct SignerMACKey: MessageAuthenticator {
    let name: [UInt8]
    let client: SignerClient

    func beginTag(_ message: [UInt8]) -> Pending<[UInt8], KeyError> {
        client.begin(.tag, key: name, message: message).then { result in
            result.flatMap { tag in
                tag.count == 32 ? result : .failure(.signer(.nonsense("a tag of \(tag.count) octets")))
            }
        }
    }
}

final class SignerSigningKey: SigningKey {
    let publicKey: JSONWebKey
    let algorithm: KeyAlgorithm
    private let name: [UInt8]
    private let client: SignerClient
    /// Of the token behind the signer.
    private let outage = OutageCircuit()

    init(_ publicKey: JSONWebKey, _ algorithm: KeyAlgorithm, _ name: [UInt8], _ client: SignerClient) {
        self.publicKey = publicKey
        self.algorithm = algorithm
        self.name = name
        self.client = client
    }

    var failure: KeyError? { client.failure.map(KeyError.signer) ?? outage.failure }

    func beginSignature(over message: [UInt8]) -> Pending<[UInt8], KeyError> {
        client.begin(.sign, key: name, message: message).then { [self] result in
            if case .failure(let error) = result, case .signer(.outage) = error {
                // Loading a key in a token makes a signature with it.
                outage.open(error, of: self) { key throws(KeyError) in
                    _ = try await key.client.begin(.load, key: key.name).value
                }
            }
            return result
        }
    }
}
