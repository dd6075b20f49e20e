/// What several equal rounds say of one quantity.
struct Spread: Equatable, Sendable {
    /// In the order of the rounds.
    let values: [Double]

    init(_ values: [Double]) { self.values = values }

    /// The middle one, or the mean of the middle two. 0 of nothing.
    var median: Double {
        let sorted = values.sorted()
        guard let last = sorted.last else { return 0 }
        let middle = sorted.count / 2
        return sorted.count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : min(sorted[middle], last)
    }

    var least: Double { values.min() ?? 0 }
    var most: Double { values.max() ?? 0 }
}

/// Times of single requests.
struct Latencies {
    /// Microseconds, in ascending order.
    private let sorted: [UInt32]

    init(microseconds: some Sequence<UInt32>) { sorted = microseconds.sorted() }

    /// The least time that so much of all (above 0, at most 1) did not exceed, in milliseconds: the nearest rank. 0 of nothing.
    func milliseconds(at share: Double) -> Double {
        guard !sorted.isEmpty else { return 0 }
        let rank = Int((share * Double(sorted.count)).rounded(.up))
        return Double(sorted[min(max(rank, 1), sorted.count) - 1]) / 1000
    }
}
