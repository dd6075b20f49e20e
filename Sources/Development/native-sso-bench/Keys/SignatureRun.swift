import BrokerHarness
import CSignatureLoop
import Foundation
import KeyModule
import NativeSSO
import StrictCoding

/// Signatures in a loop in this process: by our provider, and by the library or module below it.
///
/// The reference is a loop of C with the same key and message. For a key file it calls OpenSSL's `EVP_DigestSign` with a new
/// context for each signature; for a token it calls the module. Provider and reference take turns every 0.1 s of processor
/// time, and in turn go first, because the speed of a machine drifts.
struct SignatureRun {
    let options: LoadOptions
    let module: String
    let directory: String

    private struct Case {
        let provider: String
        let key: any SigningKey
        /// Signatures at once: a key here computes on the caller's thread, a token has four sessions.
        let tasks: Int
        let reference: Reference
        var figure: Figure

        init(_ provider: String, _ key: any SigningKey, tasks: Int, _ reference: Reference) {
            self.provider = provider
            self.key = key
            self.tasks = tasks
            self.reference = reference
            figure = Figure(["provider": .string(provider), "algorithm": .string(key.algorithm.rawValue)])
        }
    }

    /// `@unchecked Sendable`: the key is not changed after it was opened, and each task has a session of its own.
    private struct Reference: @unchecked Sendable {
        private let key: OpaquePointer?
        let tasks: Int

        init(tasks: Int = 1, _ open: (inout OpaquePointer?) -> UnsafePointer<CChar>?) throws {
            var key: OpaquePointer?
            try Self.check(open(&key))
            self.key = key
            self.tasks = tasks
        }

        func sign(_ count: Int, task: Int) throws {
            try Self.check(csignature_repeat(key, Int32(clamping: task), Int32(clamping: count)))
        }

        private static func check(_ failed: UnsafePointer<CChar>?) throws {
            guard let failed else { return }
            throw ManagedProcess.Failure(description: "\(String(cString: failed)) failed in the loop of C")
        }
    }

    /// Signatures, and the processor time of this process for them.
    private struct Sum {
        var count = 0
        var nanoseconds: Int64 = 0
        var microseconds: Double { Double(nanoseconds) / 1000 / Double(max(count, 1)) }
    }

    private static let message = Array(repeating: UInt8(ascii: "m"), count: 512)
    private static let sliceSeconds = 0.1

    func section() async throws -> Section {
        var cases = try fileCases()
        if FileManager.default.fileExists(atPath: module) { cases += try await tokenCases() }
        for round in 1...options.rounds {
            for index in cases.indices {
                let now = cases[index]
                say("keys: round \(round), \(now.provider) \(now.key.algorithm.rawValue)")
                let (own, reference) = try await microseconds(now)
                cases[index].figure.add([
                    .perSecond: 1e6 / own, .clientCPU: own, .cryptography: reference, .throughputRatio: reference / own,
                ])
            }
        }
        return Section(
            "signatures",
            facts: [("octets", .integer(Self.message.count)), ("per_second", .string("of one processor"))],
            figures: cases.map(\.figure))
    }

    private static func record(_ key: GeneratedKey) -> KeyRecord {
        KeyRecord(
            kid: key.kid, use: .accessToken, algorithm: key.algorithm, reference: key.reference,
            publicJWK: key.publicJWK, state: .active, createdAt: UnixTime(seconds: 0))
    }

    private func fileCases() throws -> [Case] {
        let provider = FileKeyProvider(directory: directory)
        return try KeyAlgorithm.signing.map { algorithm in
            let made = try provider.generateSigningKey(algorithm, modulusBits: 2048)
            let reference = try Reference {
                csignature_open_file("\(directory)/\(made.reference)", algorithm.rawValue, &$0)
            }
            return Case("file", try provider.signingKey(Self.record(made)), tasks: 1, reference)
        }
    }

    private func tokenCases() async throws -> [Case] {
        let (token, pin) = ("native-sso-bench", "1234")
        try FileManager.default.createDirectory(atPath: "\(directory)/tokens", withIntermediateDirectories: true)
        try Data("directories.tokendir = \(directory)/tokens\n".utf8).write(
            to: URL(filePath: "\(directory)/softhsm2.conf"))
        setenv("SOFTHSM2_CONF", "\(directory)/softhsm2.conf", 1)
        _ = try await ManagedProcess.output(
            of: "/usr/bin/env",
            [
                "SOFTHSM2_CONF=\(directory)/softhsm2.conf", "softhsm2-util", "--init-token", "--free", "--label", token,
                "--so-pin", "12345678", "--pin", pin,
            ])
        let provider = TokenKeyProvider(
            Token(TokenSettings(module: module, token: token, pin: pin)), files: FileKeyProvider(directory: directory))
        // Our callers and sessions keep all processors busy, which share caches and execution units.
        let sessions = min(ProcessInfo.processInfo.activeProcessorCount, 64)
        var cases: [Case] = []
        for algorithm in [KeyAlgorithm.es256, .es384, .rs256, .ps256] {
            let made = try await provider.generateSigningKey(algorithm, modulusBits: 2048)
            let label = String(made.reference.dropFirst("pkcs11:object=".count))
            let reference = try Reference(tasks: sessions) {
                csignature_open_token(
                    module, token, pin, label, algorithm.rawValue, Int32(clamping: sessions), &$0)
            }
            cases.append(Case("pkcs11", try await provider.signingKey(Self.record(made)), tasks: 16, reference))
        }
        return cases
    }

    /// Processor time of one signature in this process.
    private func microseconds(_ now: Case) async throws -> (own: Double, reference: Double) {
        let (key, loop) = (now.key, now.reference)
        _ = try await key.signature(over: Self.message)
        var (own, reference) = (Sum(), Sum())
        for slice in 0..<Int((options.seconds / Self.sliceSeconds).rounded(.up)) {
            for isOwn in [slice % 2 == 0, slice % 2 == 1] {
                if isOwn {
                    try await sign(tasks: now.tasks, &own) { count, _ in
                        for _ in 0..<count { _ = try await key.signature(over: Self.message) }
                    }
                } else {
                    try await sign(tasks: loop.tasks, &reference) { count, task in try loop.sign(count, task: task) }
                }
            }
        }
        return (own.microseconds, reference.microseconds)
    }

    /// Adds one slice.
    private func sign(
        tasks: Int, _ sum: inout Sum, _ signatures: @escaping @Sendable (_ count: Int, _ task: Int) async throws -> Void
    ) async throws {
        let start = ProcessClock.own
        let count = try await withThrowingTaskGroup(of: Int.self) { group in
            for task in 0..<tasks {
                group.addTask {
                    var count = 0
                    repeat {
                        try await signatures(4, task)
                        count += 4
                    } while Double(ProcessClock.own - start) < Self.sliceSeconds * 1e9
                    return count
                }
            }
            return try await group.reduce(0, +)
        }
        sum.count += count
        sum.nanoseconds += ProcessClock.own - start
    }
}
