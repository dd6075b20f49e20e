/// Mean and variance of numbers that come one by one. Welford's method.
struct RunningMoments {
    private(set) var count = 0.0
    private(set) var mean = 0.0
    private var squares = 0.0

    init(_ values: some Sequence<Double> = []) { for value in values { add(value) } }

    mutating func add(_ value: Double) {
        count += 1
        let distance = value - mean
        mean += distance / count
        squares += distance * (value - mean)
    }

    /// Of the whole from which these are a sample. 0 of fewer than two.
    var variance: Double { count > 1 ? squares / (count - 1) : 0 }
}

/// Whether two samples have one mean. Welch's t, for samples of unequal variance.
enum WelchTest {
    /// What leak detection takes for a difference: less comes by chance once in 100,000 times at most.
    static let threshold = 4.5

    /// 0 for samples that are all alike, or too small.
    static func t(_ a: RunningMoments, _ b: RunningMoments) -> Double {
        guard a.count > 1, b.count > 1 else { return 0 }
        let variance = a.variance / a.count + b.variance / b.count
        guard variance > 0 else { return a.mean == b.mean ? 0 : a.mean > b.mean ? .infinity : -.infinity }
        return (a.mean - b.mean) / variance.squareRoot()
    }
}
