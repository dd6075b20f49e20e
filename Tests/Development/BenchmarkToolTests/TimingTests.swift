import BrokerTesting
import Foundation
import StrictCoding
import BrokerHarness
import Testing

@testable import native_sso_bench

/// Whether refusals take alike long, and that the test which says so can see.
@Suite(.timeLimit(.minutes(5))) struct TimingTests {
    @Test func momentsAreThoseOfTheNumbers() {
        let moments = RunningMoments([2, 4, 4, 4, 5, 5, 7, 9])
        #expect(moments.count == 8)
        #expect(abs(moments.mean - 5) < 1e-12)
        #expect(abs(moments.variance - 32.0 / 7) < 1e-12)
        #expect(RunningMoments([1]).variance == 0)
    }

    /// An example worked out by hand: means 3 and 6, variances 2.5 and 10 of five samples each, so that t is -3 / √2.5.
    @Test func welch() {
        let (a, b) = (RunningMoments([1, 2, 3, 4, 5]), RunningMoments([2, 4, 6, 8, 10]))
        #expect(abs(WelchTest.t(a, b) + 3 / 2.5.squareRoot()) < 1e-12)
        #expect(WelchTest.t(a, b) == -WelchTest.t(b, a))
        #expect(WelchTest.t(a, a) == 0)
        #expect(WelchTest.t(RunningMoments([1, 1]), RunningMoments([1, 1])) == 0)
        #expect(WelchTest.t(RunningMoments([1, 1]), RunningMoments([2, 2])) < -WelchTest.threshold)
    }

    /// A hundredth of the noise is seen in so many samples, and nothing is seen where nothing is.
    @Test func aSmallDifferenceIsSeen() {
        var random = SeededRandom(seed: 1)
        func sample(_ offset: Double) -> RunningMoments {
            RunningMoments((0..<100_000).map { _ in Double(random.below(1000)) + offset })
        }
        let (one, other, slower) = (sample(0), sample(0), sample(10))
        #expect(abs(WelchTest.t(one, other)) < WelchTest.threshold)
        #expect(WelchTest.t(slower, one) > WelchTest.threshold)
    }

    @Test func refusalsThatLookAlikeTakeAlikeLong() async throws {
        let result = try await ManagedProcess.run(
            try BuildProducts.path(of: "native-sso-bench"), ["timing", "--samples", "1000"])
        try #require(result.status == 0, "\(result.errors.suffix(4000)) \(result.output)")
        let limits = JSONLimits(depth: 8, members: 10_000, elements: 1000)
        let report = try #require(try JSONReader.parse(Array(result.output.utf8), limits: limits).object)
        let figures = (report.object("timing")?.array("figures") ?? []).compactMap(\.object)
        #expect(
            figures.map { "\($0.string("kind") ?? "") \($0.string("than") ?? "")" } == [
                "unknown_session ", "wrong_device ", "foreign_group ", "unknown_session wrong_device",
                "unknown_session foreign_group", "wrong_device foreign_group",
            ])
        #expect(figures.allSatisfy { $0.number("wrong_answers")?.int64 == 0 })
        #expect(figures.suffix(3).allSatisfy { $0.object("welch_t") != nil })
    }
}
