/// Exchanges of logins by apps: app after app, and for each of them login after login.
struct Exchanges: Workload {
    private let logins: SignedLogins
    private let heads: [[UInt8]]
    /// Gets the refresh tokens of the first app.
    private let families: TokenFamilies?
    private let end: Int
    /// How far it got.
    private(set) var position: Int
    /// The login that each connection asks for; ``LoadOptions`` allows no more connections than that.
    private var underWay = [Int](repeating: 0, count: 4096)

    /// - Parameter range: Which pairs of login and app: number `n` is of login `n % logins.count` and app `n / logins.count`. One
    ///   app alone goes round and round.
    init(_ logins: SignedLogins, apps: [String], range: Range<Int>, families: TokenFamilies? = nil) {
        self.logins = logins
        self.families = families
        heads = logins.heads(apps)
        position = range.lowerBound
        end = apps.count == 1 ? range.upperBound : min(range.upperBound, logins.count * apps.count)
    }

    mutating func next(on connection: Int, into request: UnsafeMutableRawBufferPointer) -> Int? {
        guard position < end else { return nil }
        let (app, login) = position.quotientAndRemainder(dividingBy: logins.count)
        position += 1
        underWay[connection] = login
        return request.fill(heads[app % heads.count], logins[login])
    }

    mutating func answered(_ body: UnsafeRawBufferPointer, on connection: Int) {
        families?.take(body, for: underWay[connection])
    }
}
