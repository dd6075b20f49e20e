import BrokerHarness
import CTokenLoop
import Foundation
import KeyModule
import NativeSSO
import StrictCoding

/// Signatures in a loop in this process: by our provider, and by the library or module below it.
struct SignatureRun {
    let options: LoadOptions
    let module: String
    let directory: String

    private struct Case {
        let provider: String
        let algorithm: KeyAlgorithm
        let key: any SigningKey
        /// Signatures at once: a key here computes on the caller's thread, a token has four sessions.
        let tasks: Int
        /// Microseconds of one signature without us.
        let reference: () async throws -> Double
        var figure: Figure
    }

    private static let message = Array(repeating: UInt8(ascii: "m"), count: 512)

    func section() async throws -> Section {
        var cases = try fileCases()
        if FileManager.default.fileExists(atPath: module) { cases += try await tokenCases() }
        for round in 1...options.rounds {
            for index in cases.indices {
                let now = cases[index]
                say("keys: round \(round), \(now.provider) \(now.algorithm.rawValue)")
                let reference = try await now.reference()
                let own = try await microseconds(now.key, tasks: now.tasks)
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

    private static func figure(_ provider: String, _ algorithm: KeyAlgorithm) -> Figure {
        Figure(["provider": .string(provider), "algorithm": .string(algorithm.rawValue)])
    }

    private static func record(_ key: GeneratedKey) -> KeyRecord {
        KeyRecord(
            kid: key.kid, use: .accessToken, algorithm: key.algorithm, reference: key.reference,
            publicJWK: key.publicJWK, state: .active, createdAt: UnixTime(seconds: 0))
    }

    private func fileCases() throws -> [Case] {
        let provider = FileKeyProvider(directory: directory)
        return try KeyAlgorithm.signing.map { algorithm in
            let key = try provider.signingKey(
                Self.record(try provider.generateSigningKey(algorithm, modulusBits: 2048)))
            // openssl speed has no PSS: its padding costs two hashes.
            let name =
                switch algorithm {
                case .es256: "ecdsap256"
                case .es384: "ecdsap384"
                case .edDSA: "ed25519"
                case .rs256, .ps256, .hs256: "rsa2048"
                }
            return Case(
                provider: "file", algorithm: algorithm, key: key, tasks: 1,
                reference: { try await Self.openSSL(name) }, figure: Self.figure("file", algorithm))
        }
    }

    /// Microseconds of processor time, as `openssl speed` says.
    private static func openSSL(_ name: String) async throws -> Double {
        let output = try await ManagedProcess.output(
            of: "/usr/bin/env", ["openssl", "speed", "-seconds", "2", "-mr", name])
        // "+F2:…", "+F4:…" and "+F6:…" end in signatures and verifications per second.
        guard let line = output.split(separator: "\n").last(where: { $0.hasPrefix("+F") }),
            let perSecond = line.split(separator: ":").dropLast().last.flatMap({ Double($0) }), perSecond > 0
        else { throw RawCryptography.Failure(output: output) }
        return 1e6 / perSecond
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
        var cases: [Case] = []
        for (algorithm, mechanism) in [
            (KeyAlgorithm.es256, 0x1041 as UInt), (.es384, 0x1041), (.rs256, 0x40), (.ps256, 0x43),
        ] {
            let made = try await provider.generateSigningKey(algorithm, modulusBits: 2048)
            let key = try await provider.signingKey(Self.record(made))
            let label = String(made.reference.dropFirst("pkcs11:object=".count))
            let (module, seconds) = (module, options.seconds)
            cases.append(
                Case(
                    provider: "pkcs11", algorithm: algorithm, key: key, tasks: 16,
                    reference: {
                        var result = ctoken_loop()
                        // Our callers and sessions keep all processors busy, which share caches and execution units.
                        let threads = Int32(clamping: ProcessInfo.processInfo.activeProcessorCount)
                        if let call = ctoken_sign(module, token, pin, label, mechanism, seconds, threads, &result) {
                            throw ManagedProcess.Failure(
                                description: "\(String(cString: call)) failed in the loop of C")
                        }
                        return Double(result.nanoseconds) / 1000 / Double(max(result.count, 1))
                    }, figure: Self.figure("pkcs11", algorithm)))
        }
        return cases
    }

    /// Processor time of one signature in this process.
    private func microseconds(_ key: any SigningKey, tasks: Int) async throws -> Double {
        _ = try await key.signature(over: Self.message)
        let (start, seconds) = (ProcessClock.own, options.seconds)
        let count = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<tasks {
                group.addTask {
                    var count = 0
                    while Double(ProcessClock.own - start) < seconds * 1e9 {
                        for _ in 0..<16 { _ = try await key.signature(over: Self.message) }
                        count += 16
                    }
                    return count
                }
            }
            return try await group.reduce(0, +)
        }
        return Double(ProcessClock.own - start) / 1000 / Double(max(count, 1))
    }
}
