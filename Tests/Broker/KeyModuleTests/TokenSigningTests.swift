import BrokerTesting
import JOSE
@testable import KeyModule
import NativeSSO
import StrictCoding
import Testing

@Suite("Signed tokens, read by other implementations")
struct TokenSigningTests {
    private let directory: TemporaryDirectory
    private let provider: FileKeyProvider
    private static let payload = Array(#"{"iss":"https://sso.example.com","sub":"ü","exp":4000000000}"#.utf8)

    init() throws {
        directory = try TemporaryDirectory()
        provider = FileKeyProvider(directory: directory.path)
    }

    @Test(arguments: KeyAlgorithm.signing)
    func `JOSE and PyJWT verify them by the published key set`(algorithm: KeyAlgorithm) async throws {
        let ring = KeyRing()
        let set = await KeySet(try await provider.completeSet(algorithm), from: provider)
        #expect(ring.adopt(set))
        let kid = try #require(set.signingKIDs.first)
        let document = try #require(ring.current).jwks
        let name = try #require(SignatureAlgorithm(name: algorithm.rawValue))
        for type in [JWTType.accessToken, .idToken] {
            let token = try await ring.sign(payload: Self.payload, type: type, algorithm: algorithm)
            let header = #"{"alg":"\#(algorithm.rawValue)","typ":"\#(type.rawValue)","kid":"\#(kid)"}"#
            #expect(token.split(separator: ".").first.map(String.init) == Base64URL.encode(header.utf8))
            let verified = try CompactJWS(token).verified(by: JSONWebKeySet(document: document), allowing: [name])
            let others = try type == .accessToken ? [PyJWT.claims(of: token, by: document)] : []
            for claims in [verified.claims] + others {
                #expect(claims.string("sub") == "ü" && claims.string("iss") == "https://sso.example.com")
                #expect(claims.number("exp")?.int64 == 4_000_000_000)
            }
        }
    }

    /// ECDSA-Sig-Value, RFC 3279 §2.2.3, from r ‖ s.
    private static func der(_ signature: [UInt8]) -> [UInt8] {
        let integers = [signature.prefix(32), signature.suffix(32)].map { number in
            let trimmed = Array(number.drop { $0 == 0 })
            let positive = (trimmed.first ?? 0) >= 0x80 || trimmed.isEmpty ? [0] + trimmed : trimmed
            return [0x02, UInt8(positive.count)] + positive
        }
        return [0x30, UInt8(integers.joined().count)] + integers.joined()
    }

    @Test(arguments: [
        [UInt8](repeating: 0xFF, count: 64), [UInt8](repeating: 0x7F, count: 64),
        [UInt8](repeating: 0, count: 31) + [1] + [UInt8](repeating: 0, count: 20) + [UInt8](repeating: 0x80, count: 12),
    ])
    func `a DER signature becomes r and s of full width`(signature: [UInt8]) {
        #expect(EVPSigningKey.concatenated(Self.der(signature), width: 32) == signature)
    }

    @Test(
        arguments: [
            [], [0x30], [0x30, 0], [0x30, 6, 2, 1, 1, 2, 1], [0x30, 6, 2, 1, 1, 2, 1, 1, 0],
            [0x31, 6, 2, 1, 1, 2, 1, 1],
            [0x30, 6, 3, 1, 1, 2, 1, 1], [0x30, 6, 2, 1, 0x80, 2, 1, 1], [0x30, 6, 2, 1, 0, 2, 1, 1],
            [0x30, 5, 2, 1, 1, 2, 0],
            [0x30, 6, 2, 9, 1, 2, 1, 1], [0x30, 9, 2, 1, 1, 2, 1, 1, 2, 1, 1],
            [0x30, 38, 2, 33] + [UInt8](repeating: 1, count: 33) + [2, 1, 1], [0x30, 3, 2, 1, 1],
            [0x30, 8, 2, 2, 0, 1, 2, 2, 0, 1],
            [0x30, 0x81, 2, 0x40] + [UInt8](repeating: 0, count: 63) + [1, 2, 0x3D] + [UInt8](repeating: 0, count: 60)
                + [1],
        ] as [[UInt8]])
    func `nothing else becomes a signature`(der: [UInt8]) {
        #expect(EVPSigningKey.concatenated(der, width: 32) == nil)
    }

    @Test func `each algorithm has an active key of its own, and the first one signs by default`() async throws {
        let ring = KeyRing()
        let keys = try KeyAlgorithm.signing.map { try provider.generateSigningKey($0, modulusBits: 2048) }
        let rest = try await provider.completeSet().dropFirst()
        #expect(ring.adopt(await KeySet(keys.dropFirst().map { .of($0, .accessToken) } + rest, from: provider)))
        #expect(try ring.algorithm(nil) == .rs256 && ring.algorithm(.edDSA) == .edDSA)
        #expect(throws: PortError.self) { try ring.algorithm(.es256) }
        #expect(ring.adopt(await KeySet(keys.map { .of($0, .accessToken) } + rest, from: provider)))
        #expect(try ring.algorithm(nil) == .es256)
        let published = try JSONWebKeySet(document: try #require(ring.current).jwks)
        for (algorithm, key) in zip(KeyAlgorithm.signing, keys) {
            let token = try CompactJWS(
                await ring.sign(payload: Self.payload, type: .accessToken, algorithm: ring.algorithm(algorithm)))
            #expect(token.header.keyID == key.kid && token.header.algorithm.rawValue == algorithm.rawValue)
            _ = try token.verified(by: published, allowing: [token.header.algorithm])
        }
    }
}
