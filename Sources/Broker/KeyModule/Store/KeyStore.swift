import JOSE
import NativeSSO
import StrictCoding

/// Answers the one request of a command that runs as another user: see ``KeyStoreClient``.
///
/// The process of the store is the broker's user's, as every other program of this user is. It has no power over the
/// database.
package struct KeyStore: Sendable {
    private let provider: any KeyProvider

    package init(_ provider: any KeyProvider) { self.provider = provider }

    /// The answer, one JSON object.
    package func answer(_ request: [UInt8]) async throws(KeyError) -> [UInt8] {
        guard let request = KeyStoreRequest(json: request) else { throw .store("no request of this version") }
        switch request {
        case .makeSigningKey(let algorithm, let bits):
            return Self.json(try await provider.generateSigningKey(algorithm, modulusBits: bits))
        case .makeRefreshTokenKey(let id): return Self.json(try await provider.generateRefreshTokenKey(id: id))
        case .makeDeviceKey: return Self.json(try await provider.generateDeviceKey())
        case .load(let record):
            guard record.use == .accessToken else {
                _ = try await provider.macKey(record)
                return Self.json([])
            }
            return Self.json([("jwk", Self.text(try await provider.signingKey(record).publicKey))])
        case .loadPublicKey(let record): return Self.json([("jwk", Self.text(try await provider.publicKey(record)))])
        case .protection(let record): return Self.json([("protection", try await provider.protection(of: record))])
        case .destroy(let record):
            try await provider.destroy(record)
            return Self.json([])
        }
    }

    /// The answer to a request that failed.
    package static func refusal(_ text: String) -> [UInt8] { json([("error", text)]) }

    private static func json(_ key: GeneratedKey) -> [UInt8] {
        json(
            [("kid", key.kid), ("reference", key.reference), ("algorithm", key.algorithm.rawValue)]
                + (key.publicJWK.map { [("jwk", $0)] } ?? []))
    }

    private static func text(_ key: JSONWebKey) -> String { String(decoding: key.json.octets, as: UTF8.self) }

    private static func json(_ members: [(String, String)]) -> [UInt8] {
        var json = JSONWriter()
        json.object { json in
            for (name, value) in members { json.member(name, value) }
        }
        return json.bytes
    }
}
