import BrokerHarness

/// What an app has of one login, and what it is in the middle of.
struct HeldFamily: Sendable {
    let login: Login
    let app: String
    /// In the order in which they came; the last one is in use.
    private(set) var tokens: [RefreshToken] = []
    /// The last token of a refresh, by what the refresh gave.
    private var predecessors: [RefreshToken: RefreshToken] = [:]
    /// False once it was refused.
    var isLive = true
    /// What was sent and has no answer yet. An app goes on with nothing else before it has one.
    var pending: LedgerEntry.Act?
    /// Until then it is content with the access token that it has.
    private(set) var restsUntil: Duration = .zero
    /// When it last gave up on a request that may still be under way.
    var unsettledAt: Duration?

    /// Longer than anything that a broker has begun can take until it reaches the database, or never will: deadline of
    /// the call and `statement_timeout`. An app that refreshed twice within this time could be overtaken by its own
    /// abandoned request, which would then look like a replay; real ones do it once in the life of an access token.
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
