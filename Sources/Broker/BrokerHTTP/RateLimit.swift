/// A burst at once, and then one request per interval: the generic cell rate algorithm (GCRA), ITU-T I.371.
///
/// Over any span of time the limit admits at most the burst, and one more for each whole interval in the span.
package struct RateLimit: Sendable, Hashable {
    /// At least 1.
    package let burst: Int
    /// More than zero.
    package let interval: Duration
}

extension RateLimit {
    /// `count` at once, and as many in each `period` from then on.
    /// - Parameters:
    ///   - count: At least 1.
    ///   - period: More than zero.
    package init(_ count: Int, per period: Duration) { self.init(burst: count, interval: period / count) }
}

/// The same limit in nanoseconds since an arbitrary instant, for tables of many buckets.
///
/// The state of a bucket is one number: the instant at which it is empty. A past instant is the state of a new bucket.
struct BucketRule: Sendable {
    private let interval: Int64
    /// The fill, in nanoseconds, at which the bucket still admits one more.
    private let tolerance: Int64

    init(_ limit: RateLimit) {
        interval = min(max(1, limit.interval.nanoseconds), Self.longest)
        let (product, overflow) = interval.multipliedReportingOverflow(by: Int64(max(0, limit.burst - 1)))
        // The cap of a century leaves room for sums.
        tolerance = overflow ? Self.longest : min(product, Self.longest)
    }

    private static let longest: Int64 = 100 * 366 * 86_400 * 1_000_000_000

    /// Nanoseconds until the bucket admits one; 0 if it does now.
    func wait(due: Int64, at now: Int64) -> Int64 { max(0, due - now - tolerance) }

    /// Admits one, or says how long to wait.
    func charge(_ due: inout Int64, at now: Int64) -> Int64 {
        let wait = wait(due: due, at: now)
        if wait == 0 { due = max(due, now) + interval }
        return wait
    }
}

extension Duration {
    /// Whole nanoseconds; saturates.
    var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, overflowsToo) = product.addingReportingOverflow(attoseconds / 1_000_000_000)
        return overflow || overflowsToo ? .max : sum
    }
}

/// The limits of one broker; `nil`: no limit. Each broker counts by itself.
package struct RequestLimits: Sendable, Hashable {
    /// All requests to the public listener. Off by default: it would also refuse honest clients. The queue before the
    /// database does the same only when the load demands it.
    package var listener: RateLimit?
    /// Requests of an IPv4 address, or of the 64-bit prefix of an IPv6 address. One address of a mobile network serves
    /// thousands of phones, each with a refresh every few minutes.
    package var address: RateLimit? = RateLimit(2000, per: .seconds(10))
    /// TLS handshakes of an IPv4 address, or of the 64-bit prefix of an IPv6 address: each costs the broker a signature.
    package var handshakes: RateLimit? = RateLimit(1000, per: .seconds(10))
    /// Requests of the 48-bit prefix of an IPv6 address: a provider gives one customer as many addresses. Off by
    /// default: in a mobile network the prefix holds thousands of subscribers, and one of them could use up the limit
    /// for the others.
    package var network: RateLimit?
    /// Requests of one app, on all its devices, or of one authenticated client.
    package var client: RateLimit? = RateLimit(50_000, per: .seconds(10))
    /// Failed authentications in the name of one client from one address. Successes are never counted.
    package var clientFailures: RateLimit? = RateLimit(10, per: .seconds(60))
    /// Exchanges of one login by all its apps together, and refreshes of one app in it.
    package var session: RateLimit? = RateLimit(60, per: .seconds(60))
    /// Exchanges and enrolments of one user's logins: this bounds the sessions that the user can create.
    package var user: RateLimit? = RateLimit(100, per: .seconds(600))
    /// Exchanges on one device, of all users.
    package var device: RateLimit? = RateLimit(100, per: .seconds(600))
    /// Exchanges of one login that fail for the device value; enrolments of one id_token that are refused.
    package var deviceFailures: RateLimit? = RateLimit(10, per: .seconds(60))
    /// Codes from one address: each becomes a request to an identity provider before the broker knows the user. A login
    /// is rare, so the default is enough for thousands of phones behind one address.
    package var code: RateLimit? = RateLimit(300, per: .seconds(60))
    /// Logout tokens of one issuer from one address, and logout tokens without a valid signature from one address.
    package var logout: RateLimit? = RateLimit(10_000, per: .seconds(10))

    package static let standard = RequestLimits()

    package static let none = RequestLimits(
        listener: nil, address: nil, handshakes: nil, network: nil, client: nil, clientFailures: nil, session: nil,
        user: nil, device: nil, deviceFailures: nil, code: nil, logout: nil)
}
