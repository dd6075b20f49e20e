package import JOSE
package import NativeSSO
import StrictCoding

/// The keys of the broker, for a command that has the credentials of the schema's owner.
///
/// No other program of the broker's user may see those credentials, so the command runs as another user. That user opens
/// nothing in the key directory: a program of the broker's user does, once for each request.
package struct KeyStoreClient: KeyProvider {
    /// Starts the store, which reads the request and prints the answer.
    package typealias Ask = @Sendable (_ request: [UInt8]) async throws(KeyError) -> [UInt8]

    private let ask: Ask

    package init(_ ask: @escaping Ask) { self.ask = ask }

    package func check() throws(KeyError) {}

    package func generateSigningKey(
        _ algorithm: KeyAlgorithm, modulusBits: Int
    ) async throws(KeyError) -> GeneratedKey {
        let answer = try await answer(.makeSigningKey(algorithm, modulusBits: modulusBits))
        let key = try Self.publicKey(answer, algorithm)
        return GeneratedKey(signing: key, reference: try Self.text("reference", in: answer), algorithm: algorithm)
    }

    package func generateRefreshTokenKey(id: UInt8) async throws(KeyError) -> GeneratedKey {
        let key = try Self.macKey(try await answer(.makeRefreshTokenKey(id: id)))
        guard KeyReference.refreshTokenID(in: key.reference) == id else { throw Self.nonsense }
        return key
    }

    package func generateDeviceKey() async throws(KeyError) -> GeneratedKey {
        try Self.macKey(try await answer(.makeDeviceKey))
    }

    package func publicKey(_ record: KeyRecord) async throws(KeyError) -> JSONWebKey {
        try Self.publicKey(try await answer(.loadPublicKey(record)), record)
    }

    package func signingKey(_ record: KeyRecord) async throws(KeyError) -> any SigningKey {
        LoadedKey(
            publicKey: try Self.publicKey(try await answer(.load(record)), record), algorithm: record.algorithm)
    }

    package func macKey(_ record: KeyRecord) async throws(KeyError) -> any MessageAuthenticator {
        _ = try await answer(.load(record))
        return LoadedMACKey()
    }

    package func protection(of record: KeyRecord) async throws(KeyError) -> String {
        try Self.text("protection", in: try await answer(.protection(record)))
    }

    package func destroy(_ record: KeyRecord) async throws(KeyError) { _ = try await answer(.destroy(record)) }

    private func answer(_ request: KeyStoreRequest) async throws(KeyError) -> JSONObject {
        let octets = try await ask(request.json)
        guard let answer = try? JSONReader.parse(octets).object else { throw Self.nonsense }
        if let error = answer.string("error") { throw .store(error) }
        return answer
    }

    private static var nonsense: KeyError { .store("the key store gave no answer of this version") }

    private static func text(_ name: String, in answer: JSONObject) throws(KeyError) -> String {
        guard let text = answer.string(name) else { throw nonsense }
        return text
    }

    private static func macKey(_ answer: JSONObject) throws(KeyError) -> GeneratedKey {
        GeneratedKey(
            kid: try text("kid", in: answer), reference: try text("reference", in: answer), algorithm: .hs256,
            publicJWK: nil)
    }

    private static func publicKey(_ answer: JSONObject, _ record: KeyRecord) throws(KeyError) -> JSONWebKey {
        let key = try publicKey(answer, record.algorithm)
        try record.check(Base64URL.encode(key.thumbprint), at: record.reference)
        return key
    }

    private static func publicKey(_ answer: JSONObject, _ algorithm: KeyAlgorithm) throws(KeyError) -> JSONWebKey {
        guard let object = try? JSONReader.parse(try text("jwk", in: answer).utf8).object,
            let key = try? JSONWebKey(object),
            key.keyID.map({ $0.hasSameOctets(as: Base64URL.encode(key.thumbprint)) }) == true,
            key.algorithm == SignatureAlgorithm(name: algorithm.rawValue)
        else { throw nonsense }
        return key
    }

    private static let signsNothing = KeyError.store("the key store signs nothing")

    /// A key that the store can load, and only the broker uses.
    private struct LoadedKey: SigningKey {
        let publicKey: JSONWebKey
        let algorithm: KeyAlgorithm
        var failure: KeyError? { nil }

        func beginSignature(over message: [UInt8]) -> Pending<[UInt8], KeyError> {
            .done(.failure(KeyStoreClient.signsNothing))
        }
    }

    private struct LoadedMACKey: MessageAuthenticator {
        func beginTag(_ message: [UInt8]) -> Pending<[UInt8], KeyError> {
            .done(.failure(KeyStoreClient.signsNothing))
        }
    }
}
