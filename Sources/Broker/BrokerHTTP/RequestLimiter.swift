package import HTTPServer
import NIOCore
package import NativeSSO

/// Counts requests by their sender. All the counts of one request take half a microsecond, and memory is bounded.
///
/// A table can be full. Then a limit on callers with a genuine token or credential admits them, and every other limit
/// refuses.
package final class RequestLimiter: Sendable {
    /// By the raw value of the limit; `nil`: no limit.
    private let tables: [BucketTable?]
    private let handshakes: BucketTable?
    private let logoutFailures: BucketTable?
    /// Nanoseconds since an arbitrary instant.
    private let now: @Sendable () -> Int64

    package convenience init(_ limits: RequestLimits) {
        // The kernel's monotonic clock: a wall clock that is set back would refuse all requests.
        self.init(limits) { Int64(clamping: NIODeadline.now().uptimeNanoseconds) }
    }

    convenience init<C: Clock>(_ limits: RequestLimits, clock: C) where C.Duration == Duration {
        let start = clock.now
        self.init(limits) { start.duration(to: clock.now).nanoseconds }
    }

    private init(_ limits: RequestLimits, now: @escaping @Sendable () -> Int64) {
        func table(_ limit: RateLimit?, _ capacity: Int, _ whenFull: BucketTable.WhenFull) -> BucketTable? {
            limit.map { BucketTable($0, capacity: capacity, whenFull: whenFull) }
        }
        // The tables that the number of clients or networks bounds need less room.
        tables = RateLimited.Limit.allCases.map { limit in
            switch limit {
            case .listener: table(limits.listener, 512, .refuse)
            case .logout: table(limits.logout, 1 << 12, .admit)
            case .address: table(limits.address, 1 << 17, .refuse)
            case .network: table(limits.network, 1 << 15, .refuse)
            case .client: table(limits.client, 1 << 13, .admit)
            case .clientFailures: table(limits.clientFailures, 1 << 15, .refuse)
            case .session: table(limits.session, 1 << 17, .admit)
            case .user: table(limits.user, 1 << 17, .admit)
            case .device: table(limits.device, 1 << 17, .admit)
            case .deviceFailures: table(limits.deviceFailures, 1 << 15, .admit)
            case .code: table(limits.code, 1 << 15, .refuse)
            }
        }
        handshakes = table(limits.handshakes, 1 << 15, .refuse)
        logoutFailures = table(limits.logout, 1 << 12, .refuse)
        self.now = now
    }

    // MARK: Before anything is known

    func charge(requestFrom caller: ClientAddress?) throws(RateLimited) {
        let now = now()
        if let caller = caller?.distinct {
            try charge(.address, BucketKey.key(caller), at: now)
            if let site = caller.site { try charge(.network, BucketKey.key(site), at: now) }
        }
        // Last: a caller over its own limit uses up nothing of the common one.
        try charge(.listener, BucketKey.everybody, at: now)
    }

    /// Whether the peer of a new connection may begin a TLS handshake.
    package func admits(handshakeFrom peer: ClientAddress) -> Bool {
        guard let handshakes, let peer = peer.distinct else { return true }
        return handshakes.charge(BucketKey.key(peer), at: now()) == 0
    }

    /// A code, which the broker sends to an identity provider.
    func charge(codeFrom caller: ClientAddress?) throws(RateLimited) {
        guard let caller = caller?.distinct else { return }
        try charge(.code, BucketKey.key(caller), at: now())
    }

    /// Stands for the caller's address in what else is counted by it; `nil` where it is not counted.
    static func origin(_ caller: ClientAddress?) -> UInt64? { caller?.distinct.map(BucketKey.key) }

    // MARK: Tokens that end sessions

    /// Runs `verify`. Counts a token without a valid signature for its sender, and refuses a sender of too many.
    ///
    /// Counts a signed token, whatever is wrong with it, for its signer and sender. So an issuer is not refused for its own
    /// mistakes, nor for what others send under its name from elsewhere: a thief can send a copied token at will.
    func limiting<Refusal: Error, Value>(
        tokenFrom caller: ClientAddress?, signer: (Value) -> Issuer, isForged: (Refusal) -> Bool,
        _ verify: () async throws(GrantError<Refusal>) -> Value
    ) async throws(GrantError<Refusal>) -> Value {
        let sender = BucketKey.key(logoutFrom: caller)
        try GrantError<Refusal>.counting { () throws(RateLimited) in
            try Self.admit(.logout, logoutFailures?.wait(sender, at: now()) ?? 0)
        }
        let value: Value
        do throws(GrantError<Refusal>) {
            value = try await verify()
        } catch {
            if case .refused(let reason) = error, isForged(reason) { _ = logoutFailures?.charge(sender, at: now()) }
            throw error
        }
        try GrantError<Refusal>.counting { () throws(RateLimited) in
            try charge(.logout, BucketKey.key(logoutOf: signer(value), from: caller), at: now())
        }
        return value
    }

    // MARK: Clients that prove who they are

    /// A failed client authentication. Successes are never counted, so no client is refused for others at the same
    /// address. A secret has 256 bits: guessing on does not find it. Requests without a known address are not counted,
    /// because all of them would share one bucket.
    /// - Parameter client: As the request names it. Otherwise the time of refusal would show whether it is registered.
    func charge(failureOf client: String, from caller: ClientAddress?) throws(RateLimited) {
        guard let caller = caller?.distinct else { return }
        try charge(.clientFailures, BucketKey.key(client: client, caller), at: now())
    }

    func charge(authenticated client: ClientID) throws(RateLimited) {
        try charge(.client, BucketKey.key(client), at: now())
    }

    // MARK: The counting

    private func charge(
        _ limit: RateLimited.Limit, _ bucket: @autoclosure () -> UInt64, at now: Int64
    ) throws(RateLimited) {
        guard let table = tables[limit.rawValue] else { return }
        try Self.admit(limit, table.charge(bucket(), at: now))
    }

    private func check(
        _ limit: RateLimited.Limit, _ bucket: @autoclosure () -> UInt64, at now: Int64
    ) throws(RateLimited) {
        guard let table = tables[limit.rawValue] else { return }
        try Self.admit(limit, table.wait(bucket(), at: now))
    }

    private static func admit(_ limit: RateLimited.Limit, _ wait: Int64) throws(RateLimited) {
        guard wait > 0 else { return }
        throw RateLimited(limit, retryAfter: Seconds((wait - 1) / 1_000_000_000 + 1))
    }
}

extension RequestLimiter: UseLimits {
    package func charge(
        exchangeOf idToken: IDTokenClaims, onDevice deviceHash: String, by client: Client
    ) throws(RateLimited) {
        let now = now()
        try charge(.session, BucketKey.key(sessionOf: idToken), at: now)
        try charge(.user, BucketKey.key(idToken.issuer, idToken.subject.string), at: now)
        try charge(.device, BucketKey.key(idToken.issuer, deviceHash), at: now)
        try charge(unauthenticated: client, at: now)
    }

    package func charge(failureOf idToken: IDTokenClaims) throws(RateLimited) {
        try charge(.deviceFailures, BucketKey.key(sessionOf: idToken), at: now())
    }

    package func check(
        enrolmentOf idToken: IDTokenClaims, token: EnrolledTokenDigest, by client: Client
    ) throws(RateLimited) {
        let now = now()
        try check(.deviceFailures, BucketKey.key(token), at: now)
        try check(.user, BucketKey.key(idToken.issuer, idToken.subject.string), at: now)
        guard client.authentication == .none else { return }
        try check(.client, BucketKey.key(client.id), at: now)
    }

    package func count(enrolmentOf idToken: IDTokenClaims, by client: Client) {
        let now = now()
        let user = BucketKey.key(idToken.issuer, idToken.subject.string)
        _ = tables[RateLimited.Limit.user.rawValue]?.charge(user, at: now)
        guard client.authentication == .none else { return }
        _ = tables[RateLimited.Limit.client.rawValue]?.charge(BucketKey.key(client.id), at: now)
    }

    package func charge(failureOf token: EnrolledTokenDigest) throws(RateLimited) {
        try charge(.deviceFailures, BucketKey.key(token), at: now())
    }

    package func charge(refreshOf grant: UniqueID, by client: Client) throws(RateLimited) {
        let now = now()
        try charge(.session, BucketKey.key(grant), at: now)
        try charge(unauthenticated: client, at: now)
    }

    /// An app's `client_id` is no secret, so only a request with a genuine token is charged to it. A client that
    /// authenticates was charged then.
    private func charge(unauthenticated client: Client, at now: Int64) throws(RateLimited) {
        guard client.authentication == .none else { return }
        try charge(.client, BucketKey.key(client.id), at: now)
    }
}

extension ClientAddress {
    /// `nil` for the broker's own host: there a proxy forwards for all clients without naming them.
    fileprivate var distinct: ClientAddress? {
        guard let prefix else { return self }
        // `::1` has become `::/64`, which holds no other client.
        return prefix.isLoopback || prefix.family == .v6 && prefix.high == 0 ? nil : self
    }

    /// The /48 of an IPv6 address: one customer's (RFC 6177 §2), or 65,536 phones of a mobile network, with a /64 each.
    fileprivate var site: NetworkAddress? {
        guard let prefix, prefix.family == .v6 else { return nil }
        return prefix.prefix(48)
    }
}
