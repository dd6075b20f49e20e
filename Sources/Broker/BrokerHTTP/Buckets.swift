import HTTPServer
import NativeSSO
import Synchronization

/// Keys of buckets: 64-bit hashes, seeded for each process, so that an attacker cannot choose a collision.
enum BucketKey {
    /// The single bucket of a limit on all callers together.
    static let everybody: UInt64 = 1

    static func key(_ address: ClientAddress) -> UInt64 { hash { $0.combine(address) } }

    static func key(_ network: NetworkAddress) -> UInt64 { hash { $0.combine(network) } }

    static func key(logoutFrom caller: ClientAddress?) -> UInt64 { hash { $0.combine(caller) } }

    static func key(logoutOf issuer: Issuer, from caller: ClientAddress?) -> UInt64 {
        hash { hasher in
            combine(issuer.string, into: &hasher)
            hasher.combine(caller)
        }
    }

    static func key(_ client: ClientID) -> UInt64 { hash { combine(client.string, into: &$0) } }

    /// - Parameter client: As a request names it, registered or not.
    static func key(client: String, _ address: ClientAddress) -> UInt64 {
        hash { hasher in
            combine(client, into: &hasher)
            hasher.combine(address)
        }
    }

    static func key(_ issuer: Issuer, _ name: String) -> UInt64 {
        hash { hasher in
            combine(issuer.string, into: &hasher)
            combine(name, into: &hasher)
        }
    }

    /// An exchange's id_token has a `sid`.
    static func key(sessionOf idToken: IDTokenClaims) -> UInt64 { key(idToken.issuer, idToken.sessionID?.string ?? "") }

    static func key(_ token: EnrolledTokenDigest) -> UInt64 { hash { $0.combine(token) } }

    static func key(_ grant: UniqueID) -> UInt64 { hash { $0.combine(grant) } }

    static func hash(_ combine: (inout Hasher) -> Void) -> UInt64 {
        var hasher = Hasher()
        combine(&hasher)
        return UInt64(bitPattern: Int64(hasher.finalize()))
    }

    /// Hashes the octets and an end mark: `String`'s own hash is that of its normal form.
    static func combine(_ text: String, into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        hasher.combine(0xFF as UInt8)
    }
}

/// One rate limit for many buckets, each with a hash as its key, in memory that never grows.
///
/// A fixed table of sets of eight entries: a look-up reads one set, whatever the table holds. A new bucket replaces
/// only an empty one, which changes nothing. A bucket in use is never dropped: otherwise a caller with many names could
/// flush its own bucket.
///
/// If all eight buckets of a set are in use, a ninth is admitted uncounted or refused. ``WhenFull`` decides: limits on
/// callers with a genuine token or credential admit, the others refuse.
///
/// Each of the many locks is held for a few nanoseconds.
final class BucketTable: Sendable {
    enum WhenFull: Sendable {
        case admit, refuse
    }

    private struct Entry {
        /// 0: no bucket.
        var bucket: UInt64
        /// When the bucket is empty again.
        var due: Int64
    }

    private final class Shard: Sendable {
        /// Empty until it is used.
        let entries = Mutex<[Entry]>([])
    }

    private static let shardBits = 6
    private static let setSize = 8

    private let rule: BucketRule
    private let whenFull: WhenFull
    private let setMask: Int
    private let shards: [Shard]

    /// - Parameter capacity: Entries, 16 octets each; a power of two, at least 512.
    init(_ limit: RateLimit, capacity: Int, whenFull: WhenFull) {
        rule = BucketRule(limit)
        self.whenFull = whenFull
        setMask = max(1, capacity >> (Self.shardBits + 3)) - 1
        shards = (0..<(1 << Self.shardBits)).map { _ in Shard() }
    }

    /// Admits one into the bucket and counts it, or returns how many nanoseconds to wait.
    func charge(_ bucket: UInt64, at now: Int64) -> Int64 {
        withSet(of: bucket) { entries, set, bucket in
            var free: Int?
            for index in set {
                if entries[index].bucket == bucket { return rule.charge(&entries[index].due, at: now) }
                if entries[index].due <= now, free == nil { free = index }
            }
            if let free {
                entries[free] = Entry(bucket: bucket, due: now)
                return rule.charge(&entries[free].due, at: now)
            }
            guard whenFull == .refuse else { return 0 }
            return set.reduce(Int64.max) { min($0, entries[$1].due - now) }
        }
    }

    /// The wait for an existing bucket; 0 without one. Counts nothing.
    func wait(_ bucket: UInt64, at now: Int64) -> Int64 {
        withSet(of: bucket) { entries, set, bucket in
            for index in set where entries[index].bucket == bucket {
                return rule.wait(due: entries[index].due, at: now)
            }
            return 0
        }
    }

    private func withSet(of bucket: UInt64, _ body: (inout [Entry], Range<Int>, UInt64) -> Int64) -> Int64 {
        let shard = shards[Int(truncatingIfNeeded: bucket) & (shards.count - 1)]
        let set = (Int(truncatingIfNeeded: bucket >> Self.shardBits) & setMask) * Self.setSize
        return shard.entries.withLock { entries in
            if entries.isEmpty {
                entries = Array(repeating: Entry(bucket: 0, due: .min), count: (setMask + 1) * Self.setSize)
            }
            return body(&entries, set..<(set + Self.setSize), bucket == 0 ? 1 : bucket)
        }
    }
}
