import ChildProcesses
import Foundation
import Glibc
import JOSE
@testable import KeyModule
import NativeSSO
import Testing

/// A token of SoftHSM2 for one test. SoftHSM2 reads its configuration once in a process, so all tokens lie in one directory.
struct SoftToken {
    static let module = "/usr/lib/softhsm/libsofthsm2.so"
    static let isInstalled = FileManager.default.fileExists(atPath: module)

    private static let directory: Result<TemporaryDirectory, any Error> = Result {
        let directory = try TemporaryDirectory()
        try FileManager.default.createDirectory(
            atPath: directory.file("tokens"), withIntermediateDirectories: false)
        try directory.write("directories.tokendir = \(directory.file("tokens"))\n".utf8, to: "softhsm2.conf")
        setenv("SOFTHSM2_CONF", directory.file("softhsm2.conf"), 1)
        return directory
    }

    let label: String

    init() throws {
        let configuration = try Self.directory.get().file("softhsm2.conf")
        label = "t\(UInt64.random(in: .min ... .max))"
        let run = try ProgramRun(
            [
                "/usr/bin/softhsm2-util", "--init-token", "--free", "--label", label, "--so-pin", "12345678", "--pin",
                "4321",
            ],
            environment: ChildProcess.bareEnvironment.merging(["SOFTHSM2_CONF": configuration]) { $1 },
            inOwnSession: true,
            within: .seconds(60))
        try #require(run.status == 0, "\(run.errors)")
    }

    func settings(pin: String = "4321", label: String? = nil, sessions: Int = 4) -> TokenSettings {
        TokenSettings(module: Self.module, token: label ?? self.label, pin: pin, sessions: sessions)
    }
}

@Suite("Keys in a PKCS#11 token", .enabled(if: SoftToken.isInstalled, "SoftHSM2 is not installed"), .serialized)
struct TokenKeyProviderTests {
    private let soft: SoftToken
    private let directory: TemporaryDirectory

    init() throws {
        soft = try SoftToken()
        directory = try TemporaryDirectory()
    }

    private func provider(_ settings: TokenSettings? = nil) -> TokenKeyProvider {
        TokenKeyProvider(
            Token(settings ?? soft.settings()), files: FileKeyProvider(directory: directory.path))
    }

    @Test func `passes the checks of every provider`() async throws {
        try await KeyProviderConformance.check([.es256, .es384, .rs256, .ps256]) { provider() }
    }

    @Test func `keys that the token made cannot be read out, and lie in no file`() async throws {
        let provider = provider()
        let signing = try await provider.generateSigningKey(.es256, modulusBits: 0)
        let macs = [try await provider.generateRefreshTokenKey(id: 200), try await provider.generateDeviceKey()]
        #expect(signing.reference.hasPrefix("pkcs11:object=native-sso-"))
        #expect(
            macs.map(\.reference) == [
                "pkcs11:object=native-sso-refresh-token-200", "pkcs11:object=native-sso-device",
            ])
        #expect(try directory.names.isEmpty)
        let session = try TokenModule.open(soft.settings())
        for key in [signing] + macs {
            let object = try session.privateKey(String(key.reference.dropFirst("pkcs11:object=".count)))
            #expect(try session.attribute(0x103, of: object) == [1])  // CKA_SENSITIVE
            #expect(try session.attribute(0x162, of: object) == [0])  // CKA_EXTRACTABLE
            #expect(throws: TokenDefect.self) { try session.attribute(0x11, of: object) }  // CKA_VALUE
        }
        // The registry's next id and the broker's key set know the reference.
        let records: [KeyRecord] = [.of(macs[0], .refreshToken), .of(macs[1], .device)]
        let next = try await KeyGenerator(provider: provider).generate(.refreshToken, beside: records)
        #expect(next.reference == "pkcs11:object=native-sso-refresh-token-201")
        let ring = KeyRing()
        #expect(ring.adopt(await KeySet(records, from: provider)))
        #expect(try ring.currentKeyID == 200)
        #expect(try await ring.tag(Array("nsr1.".utf8), keyID: 200)?.count == 32)
    }

    @Test func `MAC keys in files work beside those in the token`() async throws {
        let files = FileKeyProvider(directory: directory.path)
        let record = KeyRecord.of(try files.generateRefreshTokenKey(id: 3), .refreshToken)
        let (there, here) = (try await provider().macKey(record), try files.macKey(record))
        #expect(try await there.tag([1]) == here.tag([1]))
    }

    @Test func `Ed25519 and unknown references are refused by name`() async throws {
        let provider = provider()
        await #expect(throws: KeyError.token(.unsupported(algorithm: "EdDSA"))) {
            try await provider.generateSigningKey(.edDSA, modulusBits: 0)
        }
        let made = KeyRecord.of(try await provider.generateSigningKey(.es256, modulusBits: 0), .accessToken)
        await #expect(throws: KeyError.token(.noKey(label: "gone"))) {
            try await provider.signingKey(made.changed(reference: "pkcs11:object=gone"))
        }
        await #expect(throws: KeyError.badReference("pkcs11:object=a;b")) {
            try await provider.signingKey(made.changed(reference: "pkcs11:object=a;b"))
        }
        await #expect(
            throws: KeyError.token(.wrongKind(label: String(made.reference.dropFirst(14)), expected: "RS256"))
        ) {
            try await provider.signingKey(made.changed(algorithm: .rs256))
        }
    }

    /// SoftHSM2 does not lock the PIN, but real tokens do after a few tries.
    @Test func `a wrong PIN is tried once`() async throws {
        let made = KeyRecord.of(try await provider().generateSigningKey(.es256, modulusBits: 0), .accessToken)
        // A login is the process's: another session would be logged in already.
        let other = try SoftToken()
        let token = Token(other.settings(pin: "0000"))
        let provider = TokenKeyProvider(token, files: FileKeyProvider(directory: directory.path))
        for _ in 0..<3 {
            await #expect(throws: KeyError.token(.wrongPIN)) { try await provider.signingKey(made) }
        }
        #expect(token.logins == 1)
    }

    @Test func `a token or a module that is not there is named`() async throws {
        let label = "not here"
        let absent = provider(soft.settings(label: label))
        do throws(KeyError) {
            _ = try await absent.generateSigningKey(.es256, modulusBits: 0)
            Issue.record("made a key")
        } catch {
            guard case .token(.noToken(label, let present)) = error else {
                Issue.record("\(error)")
                return
            }
            #expect(present.contains(soft.label))
        }
        let missing = provider(TokenSettings(module: "/nowhere/module.so", token: "t", pin: "1"))
        do throws(KeyError) {
            _ = try await missing.generateSigningKey(.es256, modulusBits: 0)
            Issue.record("made a key")
        } catch {
            #expect(error.description.contains("/nowhere/module.so cannot be loaded"))
        }
    }
}
