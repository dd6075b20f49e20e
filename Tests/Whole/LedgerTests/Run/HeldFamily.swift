import BrokerHarness

/// An app's tokens of one login, and its pending request.
struct HeldFamily: Sendable {
    let login: Login
    let app: String
    /// In order of arrival; the app uses the last one.
    private(set) var tokens: [RefreshToken] = []
    /// Maps each refreshed token to the token that the app presented for it.
    private var predecessors: [RefreshToken: RefreshToken] = [:]
    /// False after a refusal.
    var isLive = true
    /// The request without an answer yet. The app sends nothing else until it has one.
    var pending: LedgerEntry.Act?
    /// Until then the app sends nothing and uses its access token.
    private(set) var restsUntil: Duration = .zero
    /// When the app last gave up on a request that may still be running.
    var unsettledAt: Duration?

    /// A request reaches the database within this time or never (call deadline and `statement_timeout`).
    /// If the app refreshed twice sooner, its own abandoned request could arrive last and look like a replay.
    /// Real apps refresh once in an access token's lifetime.
    private static let settlingTime = Duration.seconds(5)

    init(login: Login, app: String) {
        self.login = login
        self.app = app
        pending = .exchange
    }

    var token: RefreshToken? { tokens.last }

    /// A spent token whose successor was spent too: no honest app needs it, and no later exchange changes that.
    private(set) var spentToken: RefreshToken?

    mutating func receive(_ token: RefreshToken) {
        if case .refresh(let presented) = pending {
            predecessors[token] = presented
            spentToken = predecessors[presented] ?? spentToken
        }
        pending = nil
        if tokens.last != token { tokens.append(token) }
        if let unsettledAt { restsUntil = unsettledAt + Self.settlingTime }
        unsettledAt = nil
    }

    func form(for act: LedgerEntry.Act, _ logins: LoginFactory) throws -> TokenForm {
        switch act {
        case .refresh(let token), .replay(let token): logins.refresh(token.text)
        case .exchange, .end: try logins.exchange(login)
        }
    }
}
