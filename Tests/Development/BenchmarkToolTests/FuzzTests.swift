import BrokerTesting
import Foundation
import StrictCoding
import BrokerHarness
import Testing

@testable import native_sso_bench

/// Bent requests at real brokers, and that answers are read as they come.
@Suite(.timeLimit(.minutes(20))) struct FuzzTests {
    private static let requests = ProcessInfo.processInfo.environment["FUZZ_REQUESTS"].flatMap { Int($0) } ?? 40_000

    @Test func nothingThatIsSentBreaksTheBroker() async throws {
        let result = try await ManagedProcess.run(
            try BuildProducts.path(of: "native-sso-bench"), ["fuzz", "--requests", "\(Self.requests)"],
            within: .seconds(1140))
        try #require(result.status == 0, "\(result.errors.suffix(8000))")
        let report = try #require(try JSONReader.parse(Array(result.output.utf8)).object)
        let figure = try #require(report.object("fuzz")?.array("figures")?.first?.object)
        func count(_ name: String) -> Int64 { figure.number(name)?.int64 ?? 0 }
        #expect(count("requests") == Self.requests)
        #expect(count("wrong_answers") == 0)
        // The requests reached many different checks.
        if Self.requests >= 40_000 { #expect(count("reasons") >= 115) }
        #expect(count("status_200") > 0 && count("status_401") > 0 && count("status_405") > 0)
        print("fuzzed: \(result.output)")
    }

    @Test func theSameSeedBendsInTheSameWay() throws {
        func texts(_ seed: UInt64) -> [[UInt8]] {
            var random = SeededRandom(seed: seed)
            var claims = JSONObject()
            claims["sub"] = .string("a")
            return (0..<50).map { _ in JSONMutation.text(of: claims, &random) }
        }
        #expect(texts(1) == texts(1))
        #expect(texts(1) != texts(2))
    }
}
