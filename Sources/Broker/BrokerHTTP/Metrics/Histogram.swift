/// How long requests took, in buckets of fixed bounds.
final class Histogram: Sendable {
    /// Upper bounds in microseconds: from a cached refusal to the deadline of a database call.
    static let bounds: [Int64] = [
        250, 500, 1000, 2500, 5000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000, 2_500_000,
    ]

    private let buckets = (0...Histogram.bounds.count).map { _ in Counter() }
    private let sum = Counter()

    func record(microseconds: Int64) {
        let index = Self.bounds.firstIndex { microseconds <= $0 } ?? Self.bounds.count
        buckets[index].add()
        sum.add(microseconds)
    }

    /// Counts up to and including each bound, then all.
    var cumulative: [Int64] {
        var total: Int64 = 0
        return buckets.map { bucket in
            total &+= bucket.value
            return total
        }
    }

    var sumMicroseconds: Int64 { sum.value }
}
