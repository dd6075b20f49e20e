import Synchronization

/// Limits the calls by each account, or with each key, in a second. A second's worth may come at once.
final class CallRate<Name: Hashable & Sendable>: Sendable {
    private struct Bucket {
        var level = 0.0
        var at = ContinuousClock.now
    }

    private let perSecond: Double
    private let buckets = Mutex<[Name: Bucket]>([:])

    init(_ perSecond: Int) { self.perSecond = Double(max(perSecond, 1)) }

    /// Counts one call, if there is room for it.
    func charge(_ name: Name) -> Bool {
        buckets.withLock { buckets in
            var bucket = present(buckets[name])
            defer { buckets[name] = bucket }
            guard hasRoom(bucket) else { return false }
            bucket.level += 1
            return true
        }
    }

    /// Counts one call that is made in any case. Without room it delays the next calls that ask.
    func count(_ name: Name) {
        buckets.withLock { buckets in
            var bucket = present(buckets[name])
            bucket.level += 1
            buckets[name] = bucket
        }
    }

    /// Whether there is room for one call now. Counts nothing.
    func hasRoom(_ name: Name) -> Bool { buckets.withLock { buckets in hasRoom(present(buckets[name])) } }

    private func hasRoom(_ bucket: Bucket) -> Bool { bucket.level + 1 <= perSecond }

    /// The bucket as it is now.
    private func present(_ bucket: Bucket?) -> Bucket {
        var bucket = bucket ?? Bucket()
        let now = ContinuousClock.now
        bucket.level = max(0, bucket.level - (now - bucket.at) / .seconds(1) * perSecond)
        bucket.at = now
        return bucket
    }
}
