import ChildProcesses
import Foundation
import Glibc
import JOSE
@testable import KeyModule
import NativeSSO
import StrictCoding
import Synchronization
import Testing

/// Passes every call on: what makes and destroys keys to one provider, what uses them to another.
protocol ForwardingProvider: KeyProvider {
    var maker: any KeyProvider { get }
    var reader: any KeyProvider { get }
}

extension ForwardingProvider {
    func check() throws(KeyError) { try reader.check() }
    func generateSigningKey(_ algorithm: KeyAlgorithm, modulusBits: Int) async throws(KeyError) -> GeneratedKey {
        try await maker.generateSigningKey(algorithm, modulusBits: modulusBits)
    }
    func generateRefreshTokenKey(id: UInt8) async throws(KeyError) -> GeneratedKey {
        try await maker.generateRefreshTokenKey(id: id)
    }
    func generateDeviceKey() async throws(KeyError) -> GeneratedKey { try await maker.generateDeviceKey() }
    func signingKey(_ record: KeyRecord) async throws(KeyError) -> any SigningKey {
        try await reader.signingKey(record)
    }
    func publicKey(_ record: KeyRecord) async throws(KeyError) -> JSONWebKey { try await reader.publicKey(record) }
    func macKey(_ record: KeyRecord) async throws(KeyError) -> any MessageAuthenticator {
        try await reader.macKey(record)
    }
    func protection(of record: KeyRecord) async throws(KeyError) -> String { try await reader.protection(of: record) }
    func destroy(_ record: KeyRecord) async throws(KeyError) { try await maker.destroy(record) }
}

/// Makes keys in a directory and uses them through a signer, as an operator and a broker do.
struct SignedProvider: ForwardingProvider {
    let maker: any KeyProvider
    let user: SignerKeyProvider
    var reader: any KeyProvider { user }
}

/// A provider whose signing keys wait before they answer.
struct SlowProvider: ForwardingProvider {
    let maker: any KeyProvider
    let pause: Duration
    /// Called when a signature begins.
    var onCall: @Sendable () -> Void = {}
    var reader: any KeyProvider { maker }

    private struct Key: SigningKey {
        let key: any SigningKey
        let pause: Duration
        let onCall: @Sendable () -> Void
        var publicKey: JSONWebKey { key.publicKey }
        var algorithm: KeyAlgorithm { key.algorithm }
        var failure: KeyError? { nil }

        func beginSignature(over message: [UInt8]) -> Pending<[UInt8], KeyError> {
            let made = key.beginSignature(over: message)
            onCall()
            return .coming {
                try? await Task.sleep(for: pause)
                do throws(KeyError) {
                    return .success(try await made.value)
                } catch {
                    return .failure(error)
                }
            }
        }
    }

    func signingKey(_ record: KeyRecord) async throws(KeyError) -> any SigningKey {
        Key(key: try await maker.signingKey(record), pause: pause, onCall: onCall)
    }
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

    static func started() throws -> TestSigner {
        let signer = try TestSigner()
        try signer.start()
        return signer
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
    @Test func `passes the checks of every provider`() async throws {
        let signer = try TestSigner.started()
        try await KeyProviderConformance.check(KeyAlgorithm.signing) { signer.provider() }
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

    @Test func `waits for a slow provider`() async throws {
        let signer = try TestSigner()
        try signer.start(serving: SlowProvider(maker: signer.maker, pause: .milliseconds(300)))
        try await KeyProviderConformance.waitsForASlowProvider(signer.provider(), slow: {}, fast: {})
    }

    @Test(.enabled(if: SoftToken.isInstalled, "SoftHSM2 is not installed"))
    func `serves a PKCS#11 token`() async throws {
        let soft = try SoftToken()
        let signer = try TestSigner { directory in
            TokenKeyProvider(Token(soft.settings()), files: FileKeyProvider(directory: directory.path))
        }
        try signer.start()
        try await KeyProviderConformance.signsByTheKeyThatItNames(signer.provider(), .es256)
        try await KeyProviderConformance.signsConcurrently(signer.provider(), .rs256)
        try await KeyProviderConformance.tagsConcurrently(signer.provider())
        try await KeyProviderConformance.findsAKeyAgain { signer.provider() }
    }
}
