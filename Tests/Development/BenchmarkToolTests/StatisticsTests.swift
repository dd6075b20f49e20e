import JOSE
import Testing

@testable import native_sso_bench

struct StatisticsTests {
    @Test(arguments: [
        ([3.0, 1, 2], 2.0), ([4.0, 1, 3, 2], 2.5), ([7.0], 7.0), ([], 0.0), ([1.0, 1, 100], 1.0),
    ])
    func theMedianIsInTheMiddle(_ values: [Double], _ median: Double) {
        #expect(Spread(values).median == median)
    }

    /// Nearest rank: 99 of 100 values are at most the 99th percentile, which is always a measured value.
    @Test(arguments: [(0.5, 50.0), (0.99, 99.0), (1.0, 100.0), (0.001, 1.0), (0.505, 51.0)])
    func aPercentileIsTheNearestRank(_ share: Double, _ expected: Double) {
        let latencies = Latencies(microseconds: (1...100).reversed().map { UInt32($0 * 1000) })
        #expect(latencies.milliseconds(at: share) == expected)
        #expect(Latencies(microseconds: []).milliseconds(at: share) == 0)
        #expect(Latencies(microseconds: [1500]).milliseconds(at: share) == 1.5)
    }

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

    /// proc_pid_stat(5): whatever a program calls itself, the fields are counted from the last parenthesis on.
    @Test func theKernelsCountsAreRead() throws {
        let fields = try ProcessStatus.statFields(ofText: "42 (a) R 7 (b c) S 1 42 42 0 -1 4194560")
        #expect(fields.prefix(3) == ["S", "1", "42"])
        #expect(throws: ProcessStatus.Unreadable.self) { try ProcessStatus.statFields(ofText: "42 postgres S 1") }
    }

    @Test func theMachineReadableFormOfOpenSSLIsRead() throws {
        let output = """
            +H:256
            +R1:2048:private
            +F2:2:2048:3416.000000:64840.000000
            +F4:3:256:50000.000000:16000.000000
            """
        let costs = try RawCryptography.openSSL(output)
        #expect(costs[.es256] == RawCryptography.Cost(sign: 20, verify: 62.5))
        #expect(costs[.rs256]?.sign.rounded(to: 3) == "292.740")
        #expect(costs.count == 2)
        for line in ["+F4:3:256:0.000000:1.0", "+F4:3:256:x:y", "+F4:3"] {
            #expect(throws: RawCryptography.Failure.self) { try RawCryptography.openSSL(line) }
        }
    }

    @Test func anExchangeVerifiesAndSignsARefreshSignsAlone() {
        let raw = RawCryptography([.es256: .init(sign: 15, verify: 35), .rs256: .init(sign: 200, verify: 13)])
        #expect(raw.microseconds(verifying: [.rs256], signing: .es256) == 28)
        #expect(raw.microseconds(verifying: [], signing: .rs256) == 200)
        #expect(raw.microseconds(verifying: [.es256, .es256], signing: .es256) == 85)
    }
}
