import BrokerHarness
import BrokerTesting
import Foundation

/// One of the users with very many sessions: number `u` has every row `n` of the population with `n % users == u`.
struct UserSessions {
    /// Ends all of them.
    let logout: [UInt8]
    /// Exchanges of a sample of them, in the order of the rows, the last one included.
    let requests: [[UInt8]]

    private static let sample = 1000

    init(_ user: Int, of users: Int, _ options: LogoutOptions, key: TestKey) async throws {
        let now = Int64(time(nil))
        let step = max(1, options.sessions / Self.sample)
        let logins = stride(from: options.sessions - 1, through: 0, by: -step).reversed().map { index in
            let row = Population.login(index * users + user)
            return Login(sid: row.sid, subject: Self.subject(user), device: row.device)
        }
        let forms = try await SignedLogins.make(logins, key: key, at: now)
        let head = forms.heads([SampleApps.targets[0]])[0]
        requests = (0..<forms.count).map { head + forms[$0] }
        let token = LogoutToken(
            issuer: SampleApps.issuer, audience: SampleApps.source, subject: Self.subject(user), key: key)
        logout = HTTPRequest.logout(try token.signed()).octets
    }

    private static func subject(_ user: Int) -> String { "user-of-many-\(user)" }

    static func subject(sql n: String, of users: Int) -> String { "('user-of-many-' || \(n) % \(users))" }
}
