import JOSE
import KeyModule
import NativeSSO
import Testing

@Suite("Keys of the broker, through the key store")
struct KeyStoreTests {
    private let directory: TemporaryDirectory
    private let files: FileKeyProvider
    private let client: KeyStoreClient

    init() throws {
        directory = try TemporaryDirectory()
        let files = FileKeyProvider(directory: directory.path)
        self.files = files
        client = KeyStoreClient { request throws(KeyError) in
            do throws(KeyError) { return try await KeyStore(files).answer(request) } catch {
                return KeyStore.refusal("\(error)")
            }
        }
    }

    @Test(arguments: KeyAlgorithm.signing)
    func `the store makes signing keys that the broker finds`(algorithm: KeyAlgorithm) async throws {
        let key = try await client.generateSigningKey(algorithm, modulusBits: 2048)
        let record = KeyRecord.of(key, .accessToken)
        #expect(try files.signingKey(record).algorithm == algorithm)
        let loaded = try await client.signingKey(record)
        #expect(try loaded.publicKey.thumbprint == files.signingKey(record).publicKey.thumbprint)
        #expect(try await client.protection(of: record) == files.protection(of: record))
    }

    @Test func `the store makes a whole set of keys, and destroys one`() async throws {
        let records = try await client.completeSet()
        #expect(await KeySet(records, from: files).problems.isEmpty)
        #expect(await KeySet(records, from: client).problems.isEmpty)
        // The client signs and tags nothing.
        let key = try await client.signingKey(records[0])
        let authenticator = try await client.macKey(records[1])
        await #expect(throws: KeyError.self) { try await key.signature(over: [1]) }
        await #expect(throws: KeyError.self) { try await authenticator.tag([1]) }
        try await client.destroy(records[2])
        #expect(try directory.names == records[..<2].map(\.reference).sorted())
        await #expect(throws: KeyError.self) { try await client.macKey(records[2]) }
    }

    @Test func `the client names what the store refuses`() async throws {
        let record = KeyRecord.of(try await client.generateRefreshTokenKey(id: 7), .refreshToken)
        try directory.setMode(0o644, of: record.reference)
        await #expect {
            try await client.macKey(record)
        } throws: {
            "\($0)".contains("\(directory.file(record.reference)) has mode 0644")
        }
    }

    /// The store is a process of the broker's user, which an attacker may have taken over.
    @Test(arguments: [
        "", "[]", "{}", #"{"jwk":"{}"}"#, #"{"kid":"x","reference":"refresh-token-2.key","algorithm":"HS256"}"#,
    ])
    func `the client refuses another answer than it asked for`(answer: String) async throws {
        let client = KeyStoreClient { _ throws(KeyError) in Array(answer.utf8) }
        await #expect(throws: KeyError.self) { try await client.generateSigningKey(.es256, modulusBits: 2048) }
        await #expect(throws: KeyError.self) { try await client.generateRefreshTokenKey(id: 1) }
    }

    @Test func `the client refuses another key than it asked for`() async throws {
        let files = files
        let (wanted, other) = (
            KeyRecord.of(try files.generateSigningKey(.es256, modulusBits: 2048), .accessToken),
            KeyRecord.of(try files.generateSigningKey(.es256, modulusBits: 2048), .accessToken)
        )
        let jwk = try await KeyStoreTests.answer(for: other, files)
        let client = KeyStoreClient { _ throws(KeyError) in jwk }
        await #expect(throws: KeyError.self) { try await client.signingKey(wanted) }
        #expect(try await client.signingKey(other).algorithm == .es256)
    }

    private static func answer(for record: KeyRecord, _ files: FileKeyProvider) async throws -> [UInt8] {
        let request =
            #"{"operation":"load","kid":"\#(record.kid)","use":"\#(record.use.rawValue)","algorithm":"ES256","#
            + #""reference":"\#(record.reference)"}"#
        return try await KeyStore(files).answer(Array(request.utf8))
    }
}
