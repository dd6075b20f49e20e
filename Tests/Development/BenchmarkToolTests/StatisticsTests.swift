import Testing

@testable import native_sso_bench

struct StatisticsTests {
    @Test(arguments: [
        ([3.0, 1, 2], 2.0), ([4.0, 1, 3, 2], 2.5), ([7.0], 7.0), ([], 0.0), ([1.0, 1, 100], 1.0),
    ])
    func theMedianIsInTheMiddle(_ values: [Double], _ median: Double) {
        #expect(Spread(values).median == median)
    }

    @Test func theSpreadKeepsTheOrderOfTheRounds() {
        let spread = Spread([5, 9, 2])
        #expect(spread.values == [5, 9, 2])
        #expect(spread.least == 2)
        #expect(spread.most == 9)
    }

    /// Nearest rank: 99 of 100 values are at most the 99th percentile, which is always a measured value.
    @Test(arguments: [(0.5, 50.0), (0.99, 99.0), (1.0, 100.0), (0.001, 1.0), (0.505, 51.0)])
    func aPercentileIsTheNearestRank(_ share: Double, _ expected: Double) {
        let latencies = Latencies(microseconds: (1...100).reversed().map { UInt32($0 * 1000) })
        #expect(latencies.milliseconds(at: share) == expected)
    }

    @Test(arguments: [0.01, 0.5, 0.99, 1.0])
    func aPercentileOfLittleIsWhatThereIs(_ share: Double) {
        #expect(Latencies(microseconds: []).milliseconds(at: share) == 0)
        #expect(Latencies(microseconds: [1500]).milliseconds(at: share) == 1.5)
    }

    @Test func oneSlowRequestInAHundredIsBeyondThe99thPercentile() {
        let latencies = Latencies(microseconds: Array(repeating: UInt32(1000), count: 99) + [90_000])
        #expect(latencies.milliseconds(at: 0.99) == 1)
        #expect(latencies.milliseconds(at: 1) == 90)
    }
}
