import Foundation
import JOSE
@testable import KeyModule
import NativeSSO
import Testing

@Suite("Permissions and content of key files")
struct KeyFileTests {
    private let directory: TemporaryDirectory
    private let provider: FileKeyProvider

    init() throws {
        directory = try TemporaryDirectory()
        provider = FileKeyProvider(directory: directory.path)
    }

    private func signingKey() throws -> KeyRecord {
        .of(try provider.generateSigningKey(.es256, modulusBits: 0), .accessToken)
    }

    private func defect(of record: KeyRecord) throws -> KeyFileDefect? {
        do throws(KeyError) {
            if record.use == .accessToken {
                _ = try provider.signingKey(record)
            } else {
                _ = try provider.macKey(record)
            }
            return nil
        } catch {
            guard case .file(let path, let defect) = error else { throw error }
            #expect(path.hasPrefix(directory.path))
            #expect(error.description.hasPrefix(path))
            #expect(OpenSSLErrors.isEmpty, "\(defect)")
            return defect
        }
    }

    // MARK: Permissions

    @Test func `files are 0600, and nothing else is left behind`() async throws {
        let records = try await provider.completeSet()
        #expect(Set(try directory.names) == Set(records.map(\.reference)))
        for name in try directory.names { #expect(try directory.mode(of: name) == 0o600) }
    }

    @Test func `a file or directory that others may use is refused, a read-only file is fine`() async throws {
        let record = try signingKey()
        for mode in [0o640, 0o604, 0o660, 0o620, 0o610, 0o601] {
            try directory.setMode(mode, of: record.reference)
            let defect = try #require(try defect(of: record))
            #expect(defect == .openToOthers(mode: UInt32(0o100000 | mode)))
            #expect("\(KeyError.file(path: "/k", defect))".contains("type: chmod go= /k"))
        }
        try directory.setMode(0o400, of: record.reference)
        #expect(try defect(of: record) == nil)
        for mode in [0o750, 0o705, 0o701, 0o710] {
            try directory.setMode(mode, of: ".")
            #expect(try defect(of: record) == .openToOthers(mode: UInt32(0o040000 | mode)))
            #expect(throws: KeyError.self) { try provider.check() }
            #expect(throws: KeyError.self) { try provider.generateDeviceKey() }
        }
    }

    @Test(.enabled(if: getuid() == 0, "only root can give files away"))
    func `the files of another user are refused`() async throws {
        let record = try signingKey()
        #expect(chown(directory.file(record.reference), 65534, 65534) == 0)
        #expect(try defect(of: record) == .wrongOwner(uid: 65534, expected: 0))
        #expect(chown(directory.path, 65534, 65534) == 0)
        #expect(throws: KeyError.file(path: directory.path, .wrongOwner(uid: 65534, expected: 0))) {
            try provider.check()
        }
    }

    // MARK: Other file types

    @Test func `symbolic links are refused`() async throws {
        let record = try signingKey()
        try FileManager.default.moveItem(atPath: directory.file(record.reference), toPath: directory.file("real"))
        try FileManager.default.createSymbolicLink(
            atPath: directory.file(record.reference), withDestinationPath: directory.file("real"))
        #expect(try defect(of: record) == .symbolicLink)

        let other = try TemporaryDirectory()
        try FileManager.default.createSymbolicLink(
            atPath: other.file("keys"), withDestinationPath: directory.path)
        #expect(throws: KeyError.self) { try FileKeyProvider(directory: other.file("keys")).check() }
    }

    @Test func `what is missing, a FIFO and a huge file are refused, and none hangs`() async throws {
        let record = try signingKey()
        let path = directory.file(record.reference)
        try FileManager.default.removeItem(atPath: path)
        #expect(try defect(of: record) == .missing)
        #expect(mkfifo(path, 0o600) == 0)
        #expect(try defect(of: record) == .notRegularFile)
        try FileManager.default.removeItem(atPath: path)
        try directory.write([UInt8](repeating: 0x20, count: 1 << 20), to: record.reference)
        #expect(try defect(of: record) == .tooLarge)
        let nowhere = directory.file("nowhere")
        #expect(throws: KeyError.file(path: nowhere, .missingDirectory)) {
            try FileKeyProvider(directory: nowhere).check()
        }
    }

    @Test(arguments: ["../../etc/passwd", "/etc/passwd", "x.pem", "refresh-token-0x1.key", "refresh-token-256.key", ""])
    func `a reference from the database leads nowhere else`(reference: String) async throws {
        let signing = try signingKey()
        #expect(throws: KeyError.badReference(reference)) {
            try provider.signingKey(signing.changed(reference: reference))
        }
        let tag = KeyRecord.of(try provider.generateRefreshTokenKey(id: 1), .refreshToken)
        #expect(throws: KeyError.badReference(reference)) { try provider.macKey(tag.changed(reference: reference)) }
    }

    // MARK: Content

    @Test func `every truncation of a PEM is refused`() async throws {
        let record = try signingKey()
        let pem = try directory.read(record.reference)
        for count in 0..<(pem.count - 1) {  // the last octet is a line end
            try directory.write(pem.prefix(count), to: record.reference)
            #expect(try defect(of: record) != nil, "\(count) octets")
        }
    }

    /// A few bits of the DER carry no information (a version number). The reader detects every other change.
    @Test func `a changed character is refused, or the key is the same`() async throws {
        let record = try signingKey()
        let original = try provider.signingKey(record).publicKey
        let pem = try directory.read(record.reference)
        let body = try #require(pem.firstIndex(of: UInt8(ascii: "\n"))) + 1
        let indices = (body..<(pem.count - 26)).filter { pem[$0] != UInt8(ascii: "\n") }
        var refused = 0
        for index in indices {
            var changed = pem
            changed[index] = changed[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            try directory.write(changed, to: record.reference)
            do throws(KeyError) {
                let key = try provider.signingKey(record)
                let signature = try await key.signature(over: pem)
                #expect(original.verifies(signature, of: pem, algorithm: .es256), "octet \(index)")
            } catch {
                refused += 1
            }
        }
        #expect(refused >= indices.count - 4)
    }

    /// The command that makes each file, and its defect.
    static let foreign: [(arguments: [String], defect: KeyFileDefect)] = [
        (
            ["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384"],
            .wrongAlgorithm(.es384, expected: .es256)
        ),
        (["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:secp256k1"], .wrongCurve("secp256k1")),
        (["genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:1024"], .wrongModulus(bits: 1024)),
        (["genpkey", "-algorithm", "ED25519"], .wrongAlgorithm(.edDSA, expected: .es256)),
        (["genpkey", "-algorithm", "ED448"], .unsupportedKey),
        (["genpkey", "-algorithm", "RSA-PSS", "-pkeyopt", "rsa_keygen_bits:2048"], .unsupportedKey),
        (
            ["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-aes256", "-pass", "pass:x"],
            .encryptedPEM
        ),
        (["ecparam", "-name", "prime256v1", "-genkey", "-noout"], .notPKCS8(label: "EC PRIVATE KEY")),
        (["genrsa", "-traditional"], .notPKCS8(label: "RSA PRIVATE KEY")),
        (["genrsa", "-traditional", "-aes128", "-passout", "pass:x"], .encryptedPEM),
    ]

    @Test(arguments: foreign.indices)
    func `a key of another kind is refused by name`(index: Int) async throws {
        let (arguments, expected) = Self.foreign[index]
        let record = try signingKey()
        try FileManager.default.removeItem(atPath: directory.file(record.reference))
        try OpenSSLCommand.run(arguments + ["-out", directory.file(record.reference)])
        try directory.setMode(0o600, of: record.reference)
        #expect(try defect(of: record) == expected)
    }

    @Test func `a second key or a text after the key is refused`() async throws {
        let record = try signingKey()
        let pem = try directory.read(record.reference)
        try directory.write(pem + pem, to: record.reference)
        #expect(try defect(of: record) == .trailingOctets)
        try directory.write(pem + Array("x".utf8), to: record.reference)
        #expect(try defect(of: record) == .trailingOctets)
    }

    @Test func `another good key under the same name is refused`() async throws {
        let (mine, other) = (try signingKey(), try signingKey())
        try directory.write(try directory.read(other.reference), to: mine.reference)
        #expect(
            throws: KeyError.otherKey(path: directory.file(mine.reference), expected: mine.kid, found: other.kid)
        ) { try provider.signingKey(mine) }
    }

    @Test func `a MAC key has 32 octets`() async throws {
        let record = KeyRecord.of(try provider.generateRefreshTokenKey(id: 1), .refreshToken)
        for count in [0, 31, 33, 64] {
            try directory.write([UInt8](repeating: 7, count: count), to: record.reference)
            #expect(try defect(of: record) == .wrongLength(octets: count))
        }
    }

    @Test func `keys made by openssl are taken`() async throws {
        let path = directory.file("own.pem")
        try OpenSSLCommand.run(
            ["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", path])
        let der = try OpenSSLCommand.run(["pkey", "-in", path, "-pubout", "-outform", "DER"])
        let kid = try thumbprint(ofPoint: der.suffix(64))
        try FileManager.default.moveItem(atPath: path, toPath: directory.file("\(kid).pem"))
        try directory.setMode(0o600, of: "\(kid).pem")
        let record = KeyRecord.of(
            GeneratedKey(kid: kid, reference: "\(kid).pem", algorithm: .es256, publicJWK: nil), .accessToken)
        #expect(try defect(of: record) == nil)
    }
}
