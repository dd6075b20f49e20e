import Synchronization

/// The calls by each account, or with each key, in a second; a second's worth at once.
final class CallRate<Name: Hashable & Sendable>: Sendable {
    private struct Bucket {
        var level = 0.0
        var at = ContinuousClock.now
    }

    private let perSecond: Double
    private let buckets = Mutex<[Name: Bucket]>([:])

    init(_ perSecond: Int) { self.perSecond = Double(max(perSecond, 1)) }

    /// Counts one call, if there is room for it.
    func charge(_ name: Name) -> Bool { room(name, counting: true) }

    /// Whether there is room for one call now. Counts nothing.
    func hasRoom(_ name: Name) -> Bool { room(name, counting: false) }

    private func room(_ name: Name, counting: Bool) -> Bool {
        let now = ContinuousClock.now
        return buckets.withLock { buckets in
            var bucket = buckets[name] ?? Bucket()
            let (seconds, attoseconds) = (now - bucket.at).components
            bucket.level = max(0, bucket.level - (Double(seconds) + Double(attoseconds) / 1e18) * perSecond)
            bucket.at = now
            defer { buckets[name] = bucket }
            guard bucket.level + 1 <= perSecond else { return false }
            if counting { bucket.level += 1 }
            return true
        }
    }
}
