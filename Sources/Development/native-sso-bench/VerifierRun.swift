import BrokerTesting
import JOSE
import StrictCoding
import TokenVerifier

/// One API verifies access tokens, one after the other: each for the first time, and each again.
struct VerifierRun {
    let options: LoadOptions

    private static let algorithms: [SignatureAlgorithm] = [.es256, .rs256]
    private static let tokens = 2000
    private static let (issuer, audience) = (SampleApps.broker, SampleApps.audience)
    private static let now: Int64 = 1_795_000_000

    func section() async throws -> Section {
        var section = Section("verifier", facts: [("tokens", .integer(Self.tokens))])
        for algorithm in Self.algorithms {
            say("verifier: signing \(Self.tokens) tokens with \(algorithm.rawValue)")
            let key = try TestKey.shared(algorithm)
            let tokens = try (0..<Self.tokens).map { try Self.token($0, key) }
            for isCached in [false, true] {
                var figure = Figure([
                    "algorithm": .string(algorithm.rawValue), "remembers_tokens": .bool(isCached),
                ])
                let verifier = TokenVerifier(
                    issuer: Self.issuer, algorithms: [algorithm], loader: Keys(key: key),
                    cachedTokens: isCached ? 2 * Self.tokens : 0, now: { Self.now })
                _ = try await Self.microseconds(verifier, tokens, within: 0)
                for _ in 0..<options.rounds {
                    let raw = try await RawCryptography.measured([algorithm]).verification(algorithm)
                    let own = try await Self.microseconds(verifier, tokens, within: options.seconds)
                    figure.add([.clientCPU: own, .cryptography: raw, .verifierRatio: own / max(raw, 1e-9)])
                }
                section.figures.append(figure)
            }
        }
        return section
    }

    /// Processor time of one verification. Goes through all tokens at least once.
    private static func microseconds(
        _ verifier: TokenVerifier, _ tokens: [String], within seconds: Double
    ) async throws -> Double {
        let start = ProcessClock.own
        var count = 0
        repeat {
            for token in tokens { _ = try await verifier.verify(token, audience: audience) }
            count += tokens.count
        } while Double(ProcessClock.own - start) < seconds * 1e9
        return Double(ProcessClock.own - start) / 1000 / Double(count)
    }

    private static func token(_ number: Int, _ key: TestKey) throws -> String {
        var claims = JSONObject()
        for (name, text) in [
            ("iss", issuer), ("sub", "user-\(number)"), ("aud", audience), ("client_id", "app-00"),
            ("jti", "0190000000007000a000\(number)"), ("scope", SampleApps.scope), ("idp", SampleApps.issuer),
            ("session_id", "01900000-0000-7000-a000-000000000000"),
        ] { claims[name] = .string(text) }
        for (name, time) in [("iat", now), ("nbf", now), ("exp", now + 300), ("auth_time", now - 60)] {
            claims[name] = .number(JSONNumber(time))
        }
        return try key.sign(claims: claims, type: "at+jwt")
    }

    private struct Keys: KeySetLoader {
        let key: TestKey

        func load() async throws -> KeySetDocument { KeySetDocument(octets: try TestKey.document([key])) }
    }
}
