import ChildProcesses
import Foundation
import Glibc
import JOSE
@testable import KeyModule
import NativeSSO
import StrictCoding
import Synchronization
import Testing

/// Makes keys in a directory and uses them through a signer, as an operator and a broker do.
struct SignedProvider: KeyProvider {
    let maker: any KeyProvider
    let user: SignerKeyProvider

    func check() throws(KeyError) { try user.check() }
    func generateSigningKey(_ algorithm: KeyAlgorithm, modulusBits: Int) async throws(KeyError) -> GeneratedKey {
        try await maker.generateSigningKey(algorithm, modulusBits: modulusBits)
    }
    func generateRefreshTokenKey(id: UInt8) async throws(KeyError) -> GeneratedKey {
        try await maker.generateRefreshTokenKey(id: id)
    }
    func generateDeviceKey() async throws(KeyError) -> GeneratedKey { try await maker.generateDeviceKey() }
    func signingKey(_ record: KeyRecord) async throws(KeyError) -> any SigningKey {
        try await user.signingKey(record)
    }
    func publicKey(_ record: KeyRecord) async throws(KeyError) -> JSONWebKey { try await user.publicKey(record) }
    func macKey(_ record: KeyRecord) async throws(KeyError) -> any MessageAuthenticator {
        try await user.macKey(record)
    }
    func protection(of record: KeyRecord) async throws(KeyError) -> String { try await user.protection(of: record) }
    func destroy(_ record: KeyRecord) async throws(KeyError) { try await maker.destroy(record) }
}

/// A provider whose keys wait before they answer.
struct SlowProvider: KeyProvider {
    let other: any KeyProvider
    let pause: Duration

    private struct Key: SigningKey, MessageAuthenticator {
        let signing: (any SigningKey)?
        let mac: (any MessageAuthenticator)?
        let pause: Duration
        let publicKey: JSONWebKey
        let algorithm: KeyAlgorithm
        var failure: KeyError? { nil }

        func beginSignature(over message: [UInt8]) -> Pending<[UInt8], KeyError> {
            later(signing?.beginSignature(over: message))
        }

        func beginTag(_ message: [UInt8]) -> Pending<[UInt8], KeyError> { later(mac?.beginTag(message)) }

        private func later(_ made: Pending<[UInt8], KeyError>?) -> Pending<[UInt8], KeyError> {
            .coming {
                try? await Task.sleep(for: pause)
                do throws(KeyError) {
                    guard let made else { throw .cryptography("no key") }
                    return .success(try await made.value)
                } catch {
                    return .failure(error)
                }
            }
        }
    }

    func check() throws(KeyError) {}
    func generateSigningKey(_ algorithm: KeyAlgorithm, modulusBits: Int) async throws(KeyError) -> GeneratedKey {
        try await other.generateSigningKey(algorithm, modulusBits: modulusBits)
    }
    func generateRefreshTokenKey(id: UInt8) async throws(KeyError) -> GeneratedKey {
        try await other.generateRefreshTokenKey(id: id)
    }
    func generateDeviceKey() async throws(KeyError) -> GeneratedKey { try await other.generateDeviceKey() }
    func signingKey(_ record: KeyRecord) async throws(KeyError) -> any SigningKey {
        let key = try await other.signingKey(record)
        return Key(signing: key, mac: nil, pause: pause, publicKey: key.publicKey, algorithm: key.algorithm)
    }
    func macKey(_ record: KeyRecord) async throws(KeyError) -> any MessageAuthenticator {
        try await other.macKey(record)
    }
    func publicKey(_ record: KeyRecord) async throws(KeyError) -> JSONWebKey { try await other.publicKey(record) }
    func protection(of record: KeyRecord) async throws(KeyError) -> String { try await other.protection(of: record) }
    func destroy(_ record: KeyRecord) async throws(KeyError) { try await other.destroy(record) }
}

/// A signer with its socket in a directory of its own.
final class TestSigner: Sendable {
    let directory: TemporaryDirectory
    let maker: any KeyProvider
    let events = Mutex<[SignerEvent]>([])
    private let server = Mutex<SignerServer?>(nil)

    init(_ maker: ((TemporaryDirectory) -> any KeyProvider)? = nil) throws {
        directory = try TemporaryDirectory()
        self.maker = maker?(directory) ?? FileKeyProvider(directory: directory.path)
    }

    deinit { stop() }

    var socket: String { directory.file("socket") }
    var lines: [String] { events.withLock { $0.map { "\($0)" } } }

    func start(
        users: Set<UInt32> = [geteuid()], rate: Int = 1_000_000, longest: Seconds = .hours(24),
        clock: TestClock = TestClock(), serving provider: (any KeyProvider)? = nil
    ) throws {
        let made = try SignerServer(
            at: socket, serving: provider ?? maker, to: users,
            policy: SigningPolicy(issuer: KeyProviderConformance.issuer, longest: longest), rate: rate,
            clock: clock
        ) { [weak self] event in self?.events.withLock { $0.append(event) } }
        made.start()
        server.withLock { $0 = made }
    }

    func stop() {
        server.withLock { server in
            server?.stop()
            server = nil
        }
    }

    var counts: [SignerCount] { server.withLock { $0?.counts ?? [] } }

    func provider(deadline: Duration = .seconds(3)) -> SignedProvider {
        SignedProvider(
            maker: maker, user: SignerKeyProvider(SignerClient(socket: socket, deadline: deadline)))
    }
}

@Suite("The signer process passes the checks of every key provider", .serialized)
struct SignerConformanceTests {
    @Test(arguments: KeyAlgorithm.signing)
    func `signs what its public key verifies`(algorithm: KeyAlgorithm) async throws {
        let signer = try TestSigner()
        try signer.start()
        try await KeyProviderConformance.signsWhatItsPublicKeyVerifies(signer.provider(), algorithm)
        try await KeyProviderConformance.namesKeysByThumbprint(signer.provider(), algorithm)
        try await KeyProviderConformance.signsConcurrently(signer.provider(), algorithm)
    }

    @Test func `passes the other checks`() async throws {
        let signer = try TestSigner()
        try signer.start()
        try await KeyProviderConformance.ecdsaSignaturesHaveFixedLength(signer.provider())
        try await KeyProviderConformance.refusesAnotherKeyThanTheOneMeant(signer.provider())
        try await KeyProviderConformance.tagsConcurrently(signer.provider())
        try await KeyProviderConformance.refusesTheWrongKind(signer.provider())
        try await KeyProviderConformance.destroysForGood(signer.provider())
    }

    @Test func `shows another replica's public key, and signs nothing with it`() async throws {
        let (signer, elsewhere) = (try TestSigner(), try TemporaryDirectory())
        let other = FileKeyProvider(directory: elsewhere.path)
        let record = KeyRecord.of(try other.generateSigningKey(.es256, modulusBits: 0), .accessToken, replica: "b")
        let key = try other.signingKey(record).publicKey
        try signer.start()
        let user = signer.provider().user
        await #expect(throws: KeyError.self) { try await user.publicKey(record) }
        #expect(try FileKeyProvider(directory: signer.directory.path).add(key, of: record))
        #expect(try await user.publicKey(record) == key)
        let signing = try await user.signingKey(record)
        await #expect(throws: KeyError.self) {
            try await signing.signature(over: KeyProviderConformance.signingInput(signing, "x"))
        }
        #expect(signer.counts.isEmpty)
    }

    @Test func `goes away and comes back`() async throws {
        let signer = try TestSigner()
        try signer.start()
        try await KeyProviderConformance.comesBack(signer.provider(), working: .there) {
            signer.stop()
        } back: {
            try signer.start()
        }
    }

    @Test func `waits for a slow provider`() async throws {
        let signer = try TestSigner()
        try signer.start(serving: SlowProvider(other: signer.maker, pause: .milliseconds(300)))
        try await KeyProviderConformance.waitsForASlowProvider(signer.provider(), slow: {}, fast: {})
    }

    @Test func `finds a key again`() async throws {
        let signer = try TestSigner()
        try signer.start()
        try await KeyProviderConformance.findsAKeyAgain { signer.provider() }
    }

    @Test(.enabled(if: SoftToken.isInstalled, "SoftHSM2 is not installed"))
    func `serves a PKCS#11 token`() async throws {
        let soft = try SoftToken()
        let signer = try TestSigner { directory in
            TokenKeyProvider(Token(soft.settings()), files: FileKeyProvider(directory: directory.path))
        }
        try signer.start()
        try await KeyProviderConformance.signsWhatItsPublicKeyVerifies(signer.provider(), .es256)
        try await KeyProviderConformance.signsConcurrently(signer.provider(), .rs256)
        try await KeyProviderConformance.tagsConcurrently(signer.provider())
        try await KeyProviderConformance.findsAKeyAgain { signer.provider() }
    }
}
