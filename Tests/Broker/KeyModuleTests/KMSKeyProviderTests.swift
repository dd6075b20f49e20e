import BrokerHarness
import Foundation
import JOSE
@testable import KeyModule
import NativeSSO
import StrictCoding
import Synchronization
import Testing

/// A KMS of one test, with a key that wraps MAC keys.
struct TestKMS {
    let process: KMSProcess
    private let directory: TemporaryDirectory
    let credentials: HeldCredentials

    final class HeldCredentials: Sendable {
        private let held: Mutex<AWSCredentials>
        private let reads = Atomic(0)

        init(_ credentials: (accessKey: String, secretKey: String)) {
            held = Mutex(
                AWSCredentials(
                    accessKey: credentials.accessKey, secretKey: credentials.secretKey,
                    sessionToken: "a/session+token=="))
        }

        var count: Int { reads.load(ordering: .relaxed) }
        func read() -> AWSCredentials {
            reads.add(1, ordering: .relaxed)
            return held.withLock { $0 }
        }
        func renew(_ credentials: AWSCredentials) { held.withLock { $0 = credentials } }
    }

    init() async throws {
        directory = try TemporaryDirectory()
        process = try await KMSProcess(in: URL(filePath: directory.path))
        credentials = HeldCredentials(KMSProcess.credentials)
    }

    var wrappingKey: String { process.wrappingKey }

    func client(
        endpoint: String? = nil, wrappingKey: String? = nil, wraps: Bool = true, deadline: Duration = .seconds(3)
    ) -> KMSClient {
        KMSClient(
            KMSSettings(
                region: KMSProcess.region, endpoint: endpoint ?? process.endpoint,
                wrappingKey: wraps ? wrappingKey ?? self.wrappingKey : nil, deadline: deadline, clock: TestClock()
            ) { [credentials] () throws(KMSDefect) in credentials.read() })
    }

    func provider(_ client: KMSClient? = nil) -> KMSKeyProvider {
        KMSKeyProvider(client ?? self.client(), files: nil)
    }
}

@Suite(
    "Keys in AWS KMS", .enabled(if: KMSProcess.isInstalled, "moto is not here: deploy/packages --tests gets it"),
    .serialized)
struct KMSKeyProviderTests {
    private static let algorithms: [KeyAlgorithm] = [.es256, .es384, .rs256, .ps256]

    private func defect<Value>(_ call: () async throws(KeyError) -> Value) async -> KMSDefect? {
        do throws(KeyError) {
            _ = try await call()
            return nil
        } catch {
            guard case .kms(let defect) = error else {
                Issue.record("\(error)")
                return nil
            }
            return defect
        }
    }

    @Test func `passes the checks of every provider`() async throws {
        let kms = try await TestKMS()
        let provider = kms.provider()
        for algorithm in Self.algorithms {
            try await KeyProviderConformance.signsWhatItsPublicKeyVerifies(provider, algorithm)
            try await KeyProviderConformance.namesKeysByThumbprint(provider, algorithm)
        }
        try await KeyProviderConformance.signsConcurrently(provider, .es256)
        try await KeyProviderConformance.ecdsaSignaturesHaveFixedLength(provider)
        try await KeyProviderConformance.refusesAnotherKeyThanTheOneMeant(provider)
        try await KeyProviderConformance.refusesTheWrongKind(provider)
        try await KeyProviderConformance.tagsConcurrently(provider)
        try await KeyProviderConformance.destroysForGood(provider)
        try await KeyProviderConformance.findsAKeyAgain { kms.provider() }
    }

    @Test func `waits for a slow provider, and comes back`() async throws {
        let kms = try await TestKMS()
        try await KeyProviderConformance.waitsForASlowProvider(kms.provider()) {
            try kms.process.fail(with: .slow(seconds: 0.3))
        } fast: {
            try kms.process.fail(with: nil)
        }
        for fault in [KMSProcess.Fault.dropped, .throttled, .error, .denied, .page, .clock] {
            try await KeyProviderConformance.comesBack(kms.provider(), signing: .there, tagging: .here) {
                try kms.process.fail(with: fault)
            } back: {
                try kms.process.fail(with: nil)
            }
        }
    }

    @Test func `serves through a signer process, too`() async throws {
        let kms = try await TestKMS()
        let signer = try TestSigner { _ in kms.provider() }
        try signer.start()
        try await KeyProviderConformance.signsWhatItsPublicKeyVerifies(signer.provider(), .es256)
        try await KeyProviderConformance.tagsConcurrently(signer.provider())
        try await KeyProviderConformance.findsAKeyAgain { signer.provider() }
    }

    @Test func `each fault is a sentence that says what to do`() async throws {
        let kms = try await TestKMS()
        let records = try await kms.provider().completeSet()
        let provider = kms.provider(kms.client(deadline: .seconds(1)))
        for (fault, words) in [
            (KMSProcess.Fault.dropped, "cannot be reached at http://127.0.0.1"),
            (.slow(seconds: 1.5), "did not answer"),
            (.throttled, "raise its quota"), (.denied, "may not do kms:"), (.error, "KMSInternalException"),
            (.clock, "set the clock of this machine"), (.renewed, "renew keys.kms.credentials_file"),
            (.page, "correct keys.kms.endpoint"), (.empty, "correct keys.kms.endpoint"),
            (.garbage, "correct keys.kms.endpoint"), (.endless, "correct keys.kms.endpoint"),
        ] {
            try kms.process.fail(with: fault)
            for record in records.prefix(2) {
                do throws(KeyError) {
                    if record.use == .accessToken {
                        _ = try await provider.signingKey(record)
                    } else {
                        _ = try await provider.macKey(record)
                    }
                    Issue.record("\(fault): a key was loaded")
                } catch {
                    // A wrong MAC key is known by its kid.
                    if case .garbage = fault, record.use == .refreshToken { continue }
                    #expect(error.description.contains(words), "\(fault): \(error)")
                    #expect(!error.description.contains("test-secret"))
                    if case .denied = fault { #expect(!error.isOutage) } else { #expect(error.isOutage) }
                }
            }
        }
        try kms.process.fail(with: nil)
        #expect(await KeySet(records, from: provider).problems.isEmpty)
        // No server listens there.
        let closed = kms.provider(kms.client(endpoint: "http://127.0.0.1:9"))
        let refused = await defect { () async throws(KeyError) in try await closed.signingKey(records[0]) }
        #expect(refused?.description.contains("cannot be reached at http://127.0.0.1:9") == true)
        #expect(refused?.isOutage == true)
    }

    @Test func `what is throttled for a moment is tried again, and what is refused is not`() async throws {
        let kms = try await TestKMS()
        let record = KeyRecord.of(try await kms.provider().generateSigningKey(.es256, modulusBits: 0), .accessToken)
        let key = try await kms.provider().signingKey(record)
        try kms.process.fail(with: .throttledFirst(2))
        let signature = try await key.signature(over: [1])
        #expect(key.publicKey.verifies(signature, of: [1] as [UInt8], algorithm: .es256))
        #expect(key.failure == nil)
        // Three tries are all.
        try kms.process.fail(with: .throttledFirst(3))
        #expect(await defect { () async throws(KeyError) in try await key.signature(over: [1]) } == .throttled)
        #expect(key.failure == .kms(.throttled))
        let end = ContinuousClock.now + .seconds(10)
        while key.failure != nil, ContinuousClock.now < end { try await Task.sleep(for: .milliseconds(20)) }
        _ = try await key.signature(over: [1])
        // What is refused is refused at once.
        try kms.process.fail(with: .denied)
        #expect(
            await defect { () async throws(KeyError) in try await key.signature(over: [1]) } == .denied(action: "Sign"))
    }

    @Test func `a key that was throttled stops no other key`() async throws {
        let kms = try await TestKMS()
        var keys: [any SigningKey] = []
        for _ in 0..<2 {
            let made = try await kms.provider().generateSigningKey(.es256, modulusBits: 0)
            keys.append(try await kms.provider().signingKey(.of(made, .accessToken)))
        }
        let (first, second) = (keys[0], keys[1])
        try kms.process.fail(with: .throttledFirst(3))
        #expect(await defect { () async throws(KeyError) in try await first.signature(over: [1]) } == .throttled)
        #expect(first.failure == .kms(.throttled) && second.failure == nil)
        let signature = try await second.signature(over: [1])
        #expect(second.publicKey.verifies(signature, of: [1] as [UInt8], algorithm: .es256))
    }

    @Test func `credentials that were renewed are read again`() async throws {
        let kms = try await TestKMS()
        let provider = kms.provider()
        let record = KeyRecord.of(try await provider.generateSigningKey(.es256, modulusBits: 0), .accessToken)
        let key = try await provider.signingKey(record)
        #expect(kms.credentials.count == 1)
        try kms.process.fail(with: .renewed)
        let renewed = KMSProcess.renewedCredentials
        kms.credentials.renew(AWSCredentials(accessKey: renewed.accessKey, secretKey: renewed.secretKey))
        let signature = try await key.signature(over: [1])
        #expect(key.publicKey.verifies(signature, of: [1] as [UInt8], algorithm: .es256))
        #expect(key.failure == nil)
    }

    @Test func `a wrapped key is good for its name and its wrapping key alone`() async throws {
        let kms = try await TestKMS()
        let provider = kms.provider()
        let records = try await provider.completeSet()
        let (tag, device) = (records[1], records[2])
        #expect(tag.reference.hasPrefix("aws-kms:refresh-token-1:") && device.reference.hasPrefix("aws-kms:device:"))
        // A row of the registry that gives it another use or another id.
        let wrapped = try #require(device.reference.split(separator: ":").last)
        for reference in ["aws-kms:refresh-token-1:\(wrapped)", "aws-kms:refresh-token-2:\(wrapped)"] {
            let stolen = KeyRecord(
                kid: device.kid, use: .refreshToken, algorithm: .hs256, reference: reference, publicJWK: nil,
                state: .active, createdAt: device.createdAt)
            #expect(
                await defect { () async throws(KeyError) in try await provider.macKey(stolen) }
                    == .notWrappedHere(String(reference.split(separator: ":")[1])))
        }
        await #expect(throws: KeyError.self) {
            try await provider.macKey(device.changed(reference: "aws-kms:device:x"))
        }
        await #expect(throws: KeyError.badReference("aws-kms")) {
            try await provider.macKey(device.changed(reference: tag.reference))
        }
        // The ring knows the id.
        let ring = KeyRing()
        #expect(ring.adopt(await KeySet(records, from: provider)))
        #expect(try ring.currentKeyID == 1)
        #expect(
            try await KeyGenerator(provider: provider).generate(.refreshToken, beside: records).reference.hasPrefix(
                "aws-kms:refresh-token-2:"))
        let none = kms.provider(kms.client(wraps: false))
        #expect(await defect { () async throws(KeyError) in try await none.macKey(device) } == .noWrappingKey)
        #expect(await defect { () async throws(KeyError) in try await none.generateDeviceKey() } == .noWrappingKey)
        let other = try await TestKMS()
        let elsewhere = other.provider()
        #expect(
            await defect { () async throws(KeyError) in try await elsewhere.signingKey(records[0]) }
                == .noKey(String(records[0].reference.dropFirst(8))))
    }

    @Test func `what KMS does not make, and references that lead elsewhere, are refused by name`() async throws {
        let kms = try await TestKMS()
        let provider = kms.provider()
        #expect(
            await defect { () async throws(KeyError) in try await provider.generateSigningKey(.edDSA, modulusBits: 0) }
                == .unsupported(algorithm: "EdDSA"))
        let record = KeyRecord.of(try await provider.generateSigningKey(.es256, modulusBits: 0), .accessToken)
        let id = String(record.reference.dropFirst("aws-kms:".count))
        #expect(
            await defect { () async throws(KeyError) in
                try await provider.signingKey(record.changed(algorithm: .rs256))
            } == .wrongKind(id, expected: "RS256"))
        for reference in [
            "aws-kms:arn:aws:kms:eu-central-1:1:key/\(id)", "aws-kms:alias/x", "aws-kms:", "aws-kms:../x", "x.pem",
            "pkcs11:object=x",
        ] {
            await #expect(throws: KeyError.self, "\(reference)") {
                try await provider.signingKey(record.changed(reference: reference))
            }
        }
        let symmetric = record.changed(reference: "aws-kms:\(kms.wrappingKey)")
        await #expect(throws: KeyError.self) { try await provider.signingKey(symmetric) }
        try await provider.destroy(record)
        let gone = await defect { () async throws(KeyError) in try await provider.signingKey(record) }
        #expect(gone?.description.contains("cancel its deletion") == true)
    }

    @Test func `keys in files work beside those in KMS`() async throws {
        let kms = try await TestKMS()
        let directory = try TemporaryDirectory()
        let files = FileKeyProvider(directory: directory.path)
        let provider = KMSKeyProvider(kms.client(), files: files)
        let records: [KeyRecord] = [
            .of(try files.generateSigningKey(.es256, modulusBits: 0), .accessToken, .retired),
            .of(try await provider.generateSigningKey(.es256, modulusBits: 0), .accessToken),
            .of(try files.generateDeviceKey(), .device),
        ]
        let keys = await KeySet(records, from: provider)
        #expect(keys.problems.isEmpty)
        #expect(try JSONWebKeySet(document: keys.jwks).keys.count == 2)
        #expect(try directory.names.count == 2)
        #expect(try await provider.protection(of: records[1]) == "in AWS KMS")
        #expect(records.map(\.providerName) == ["file", "aws-kms", "file"])
    }
}
