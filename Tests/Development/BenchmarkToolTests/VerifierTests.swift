import BrokerHarness
import StrictCoding
import Testing

/// What a verifier costs, in a moment too short for a figure.
@Suite(.timeLimit(.minutes(5))) struct VerifierTests {
    @Test func everyAlgorithmIsMeasuredWithAndWithoutMemory() async throws {
        let result = try await ManagedProcess.run(
            try BuildProducts.path(of: "native-sso-bench"), ["verifier", "--rounds", "1", "--seconds", "0.2"])
        try #require(result.status == 0, "\(result.errors.suffix(4000)) \(result.output)")
        let limits = JSONLimits(depth: 8, members: 10_000, elements: 1000)
        let report = try #require(try JSONReader.parse(Array(result.output.utf8), limits: limits).object)
        let figures = (report.object("verifier")?.array("figures") ?? []).compactMap(\.object)
        #expect(figures.map { $0.string("algorithm") } == ["ES256", "ES256", "RS256", "RS256"])
        #expect(figures.map { $0["remembers_tokens"] } == [.bool(false), .bool(true), .bool(false), .bool(true)])
        #expect(figures.allSatisfy { $0.object("verifier_cpu_to_raw_cryptography") != nil })
    }
}
