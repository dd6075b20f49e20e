import JOSE
@testable import KeyModule
import NativeSSO
import Testing

@Suite("Encrypted key files")
struct EncryptedKeyTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private func provider(_ passphrase: String? = "correct horse") throws -> FileKeyProvider {
        try passphrase.map { try FileKeyProvider(directory: directory.path, passphrase: $0) }
            ?? FileKeyProvider(directory: directory.path)
    }

    @Test func `are found again, for each algorithm`() async throws {
        for algorithm in KeyAlgorithm.signing {
            try await KeyProviderConformance.signsByTheKeyThatItNames(try provider(), algorithm)
        }
        try await KeyProviderConformance.findsAKeyAgain { try provider() }
        #expect(OpenSSLErrors.isEmpty)
    }

    @Test func `are PKCS 8 that openssl opens with the passphrase, and say so`() async throws {
        let record = KeyRecord.of(try provider().generateSigningKey(.es256, modulusBits: 0), .accessToken)
        let text = String(decoding: try directory.read(record.reference), as: UTF8.self)
        #expect(text.hasPrefix("-----BEGIN ENCRYPTED PRIVATE KEY-----\n"))
        try OpenSSLCommand.run(
            ["pkey", "-in", directory.file(record.reference), "-passin", "pass:correct horse", "-noout"])
        #expect(try provider().protection(of: record) == "file, mode 0600, encrypted")
        #expect(try provider(nil).protection(of: record) == "file, mode 0600, encrypted")
    }

    @Test func `are refused with another passphrase, or with none, and leave no error in OpenSSL`() async throws {
        let record = KeyRecord.of(try provider().generateSigningKey(.rs256, modulusBits: 2048), .accessToken)
        let path = directory.file(record.reference)
        for (passphrase, defect) in [
            ("wrong", KeyFileDefect.wrongPassphrase), ("correct horse ", .wrongPassphrase), (nil, .encryptedPEM),
        ] {
            let provider = try provider(passphrase)
            #expect(throws: KeyError.file(path: path, defect)) { try provider.signingKey(record) }
            #expect(OpenSSLErrors.isEmpty)
            #expect("\(KeyError.file(path: path, defect))".contains("keys.passphrase_file"))
        }
        #expect(throws: Never.self) { try provider().signingKey(record) }
    }

    /// An operator who begins to encrypt does not lose the keys of before.
    @Test func `stand beside keys that are not encrypted`() async throws {
        let plain = KeyRecord.of(try provider(nil).generateSigningKey(.es256, modulusBits: 0), .accessToken)
        #expect(try provider().protection(of: plain) == "file, mode 0600, not encrypted")
        #expect(throws: Never.self) { try provider().signingKey(plain) }
    }

    @Test func `are refused if they were truncated`() async throws {
        let record = KeyRecord.of(try provider().generateSigningKey(.es256, modulusBits: 0), .accessToken)
        let pem = try directory.read(record.reference)
        for count in stride(from: 0, to: pem.count - 1, by: 7) {
            try directory.write(pem.prefix(count), to: record.reference)
            #expect(throws: KeyError.self, "\(count) octets") { try provider().signingKey(record) }
            #expect(OpenSSLErrors.isEmpty)
        }
    }

    @Test(.disabled(if: FIPSModule.isInstalled, "OpenSSL has a FIPS provider here"))
    func `without a FIPS provider, asking for it is an error that says what to do`() {
        do throws(KeyError) {
            try FIPSModule.require()
            Issue.record("there is one")
        } catch {
            #expect(error.description.contains("keys.fips is true") && error.description.contains("fips_module"))
            #expect(!FIPSModule.isUsed && OpenSSLErrors.isEmpty)
        }
    }
}
