import BrokerHarness
import Crypto
import CryptoExtras
import Foundation
import JOSE

/// What signatures cost on one core of this machine: the price below which no broker can go.
///
/// For each operation the cheaper of two libraries, as `openssl speed` and swift-crypto do it in a loop, in microseconds.
struct RawCryptography {
    struct Cost: Equatable {
        var sign: Double
        var verify: Double
    }

    private let costs: [SignatureAlgorithm: Cost]

    struct Failure: Error, CustomStringConvertible {
        let output: String
        var description: String { "openssl speed says nothing that is understood: \(output)" }
    }

    init(_ costs: [SignatureAlgorithm: Cost]) { self.costs = costs }

    /// Takes about two seconds for each algorithm, ES256 or RS256 (2048 bits).
    static func measured(_ algorithms: Set<SignatureAlgorithm>) async throws -> RawCryptography {
        let names = [SignatureAlgorithm.es256: "ecdsap256", .rs256: "rsa2048"].filter { algorithms.contains($0.key) }
        let output = try await ManagedProcess.output(
            of: "/usr/bin/env", ["openssl", "speed", "-seconds", "1", "-mr"] + names.values.sorted())
        var costs = try openSSL(output)
        for algorithm in algorithms {
            guard let openSSL = costs[algorithm] else { throw Failure(output: output) }
            let other = algorithm == .es256 ? try swiftCryptoES256() : try swiftCryptoRS256()
            costs[algorithm] = Cost(
                sign: min(openSSL.sign, other.sign), verify: min(openSSL.verify, other.verify))
        }
        return RawCryptography(costs)
    }

    /// Of one request: verifying the signatures of the identity provider and of a proof, where there are any, and signing an
    /// access token.
    func microseconds(verifying: [SignatureAlgorithm], signing: SignatureAlgorithm) -> Double {
        verifying.reduce(0) { $0 + (costs[$1]?.verify ?? 0) } + (costs[signing]?.sign ?? 0)
    }

    /// Reads `openssl speed -mr`: "+F2:2:2048:signs:verifies" is RSA, "+F4:3:256:signs:verifies" ECDSA, both per second.
    static func openSSL(_ output: String) throws -> [SignatureAlgorithm: Cost] {
        var costs: [SignatureAlgorithm: Cost] = [:]
        for line in output.split(separator: "\n") {
            let fields = line.split(separator: ":")
            let algorithm: SignatureAlgorithm? = line.hasPrefix("+F4:") ? .es256 : line.hasPrefix("+F2:") ? .rs256 : nil
            guard let algorithm else { continue }
            guard fields.count == 5, let signs = Double(fields[3]), let verifies = Double(fields[4]), signs > 0,
                verifies > 0
            else { throw Failure(output: output) }
            costs[algorithm] = Cost(sign: 1e6 / signs, verify: 1e6 / verifies)
        }
        return costs
    }

    private static let message = Array(repeating: UInt8(ascii: "m"), count: 512)

    private static func swiftCryptoES256() throws -> Cost {
        let key = P256.Signing.PrivateKey()
        let signature = try key.signature(for: message)
        let publicKey = key.publicKey
        return Cost(
            sign: try microseconds { _ = try key.signature(for: message) },
            verify: try microseconds {
                guard publicKey.isValidSignature(signature, for: message) else { throw Failure(output: "no signature") }
            })
    }

    private static func swiftCryptoRS256() throws -> Cost {
        let key = try _RSA.Signing.PrivateKey(keySize: .bits2048)
        let signature = try key.signature(for: message, padding: .insecurePKCS1v1_5)
        let publicKey = key.publicKey
        return Cost(
            sign: try microseconds { _ = try key.signature(for: message, padding: .insecurePKCS1v1_5) },
            verify: try microseconds {
                guard publicKey.isValidSignature(signature, for: message, padding: .insecurePKCS1v1_5) else {
                    throw Failure(output: "no signature")
                }
            })
    }

    /// Processor time of one call, out of a tenth of a second of calls.
    private static func microseconds(_ operation: () throws -> Void) rethrows -> Double {
        try operation()
        let start = ProcessClock.thread
        var count = 0
        while ProcessClock.thread - start < 100_000_000 {
            for _ in 0..<16 { try operation() }
            count += 16
        }
        return Double(ProcessClock.thread - start) / 1000 / Double(count)
    }
}
