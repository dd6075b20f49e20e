@testable import BrokerHTTP
import BrokerTesting
import Testing

@Suite("Rate limits for many buckets", .timeLimit(.minutes(1)))
struct BucketTests {
    private static let second: Int64 = 1_000_000_000

    @Test("A bucket admits its burst, then one each interval, and reports the exact wait")
    func rule() {
        let rule = BucketRule(RateLimit(burst: 3, interval: .seconds(10)))
        var due: Int64 = 0
        #expect((0..<3).allSatisfy { _ in rule.charge(&due, at: 0) == 0 })
        #expect(rule.charge(&due, at: 4 * Self.second) == 6 * Self.second)
        #expect(rule.wait(due: due, at: 10 * Self.second - 1) == 1)
        #expect(rule.charge(&due, at: 10 * Self.second) == 0)
        #expect(rule.charge(&due, at: 10 * Self.second) == 10 * Self.second)
        // A long pause admits one burst and no more.
        #expect((0..<4).map { _ in rule.charge(&due, at: 1000 * Self.second) } == [0, 0, 0, 10 * Self.second])
    }

    @Test("Extreme limits do not overflow")
    func extremes() {
        for limit in [
            RateLimit(burst: .max, interval: .seconds(Int64.max)), RateLimit(burst: 1, interval: .nanoseconds(1)),
            RateLimit(burst: .max, interval: .nanoseconds(1)), RateLimit(burst: 0, interval: .zero),
        ] {
            let rule = BucketRule(limit)
            var due: Int64 = 0
            for now in [0, 1, Int64.max / 4] { _ = (0..<3).map { _ in rule.charge(&due, at: now) } }
        }
        #expect(Duration.seconds(Int64.max).nanoseconds == .max)
    }

    /// Any window admits at most the burst and one more for each whole interval in it, and each reported wait is exact.
    @Test("No time window admits more than the limit", arguments: 0..<60)
    func property(seed: UInt64) {
        var randomness = SeededRandom(seed: seed)
        let burst = Int.random(in: 1...20, using: &randomness)
        let interval = Int64.random(in: 1...1000, using: &randomness)
        let table = BucketTable(
            RateLimit(burst: burst, interval: .nanoseconds(interval)), capacity: 512, whenFull: .refuse)
        var now: Int64 = 0
        var admitted: [Int64] = []
        for _ in 0..<600 {
            if Bool.random(using: &randomness) { now += Int64.random(in: 0...(2 * interval), using: &randomness) }
            let wait = table.charge(7, at: now)
            if wait == 0 {
                admitted.append(now)
            } else {
                let isTrue = table.wait(7, at: now + wait) == 0 && table.wait(7, at: now + wait - 1) == 1
                #expect(isTrue, "\(wait)")
            }
        }
        let holds = admitted.indices.allSatisfy { first in
            admitted[first...].enumerated().allSatisfy { count, last in
                count + 1 <= burst + Int((last - admitted[first]) / interval)
            }
        }
        #expect(holds, "burst \(burst), interval \(interval): \(admitted)")
    }

    @Test("Each of thousands of buckets has its own burst")
    func independence() {
        let table = BucketTable(RateLimit(burst: 2, interval: .seconds(1)), capacity: 1 << 15, whenFull: .admit)
        var randomness = SeededRandom(seed: 1)
        let buckets = (0..<1000).map { _ in randomness.next() }
        for _ in 0..<2 { #expect(buckets.allSatisfy { table.charge($0, at: 5) == 0 }) }
        #expect(buckets.allSatisfy { table.charge($0, at: 5) > 0 })
        #expect(table.wait(0, at: 5) == 0)
        #expect(table.charge(0, at: 5) == 0)
    }

    /// All in one set of eight: they differ in bits that do not select the set.
    private static let crowd = (1...9).map { UInt64($0) << 40 }

    @Test("A full table forgets no bucket that still has to wait")
    func debtsStay() {
        let limit = RateLimit(burst: 1, interval: .seconds(10))
        let open = BucketTable(limit, capacity: 512, whenFull: .admit)
        let closed = BucketTable(limit, capacity: 512, whenFull: .refuse)
        for (index, bucket) in Self.crowd.prefix(8).enumerated() {
            for table in [open, closed] { #expect(table.charge(bucket, at: Int64(index)) == 0) }
        }
        // The ninth finds no room: the open table admits it, and the closed one makes it wait for the first empty
        // bucket.
        #expect(open.charge(Self.crowd[8], at: 8) == 0)
        #expect(closed.charge(Self.crowd[8], at: 8) == 10 * Self.second - 8)
        for table in [open, closed] {
            #expect(Self.crowd.prefix(8).allSatisfy { table.charge($0, at: 8) > 0 })
            #expect(table.wait(Self.crowd[8], at: 8) == 0)
        }
        // Then it replaces an empty bucket.
        #expect(closed.charge(Self.crowd[8], at: 10 * Self.second) == 0)
        #expect(closed.charge(Self.crowd[8], at: 10 * Self.second) > 0)
        #expect(closed.charge(Self.crowd[1], at: 10 * Self.second) == 1)
    }

    @Test("Concurrent charges admit no more than the burst")
    func races() async {
        let table = BucketTable(RateLimit(burst: 100, interval: .seconds(1)), capacity: 512, whenFull: .refuse)
        let admitted = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<8 { group.addTask { (0..<1000).count { _ in table.charge(3, at: 0) == 0 } } }
            return await group.reduce(0, +)
        }
        #expect(admitted == 100)
    }
}
