/// One request and its outcome, as the sender saw it.
struct LedgerEntry: Sendable {
    enum Act: Sendable {
        /// An app exchanges the login.
        case exchange
        /// An app refreshes with its newest token.
        case refresh(RefreshToken)
        /// A thief presents a spent token whose successor is spent too.
        case replay(RefreshToken)
        /// An operator ends the session.
        case end

        var isReplay: Bool {
            if case .replay = self { true } else { false }
        }

        var isEnd: Bool {
            if case .end = self { true } else { false }
        }
    }

    enum Outcome: Sendable, Equatable {
        /// 200 with this refresh token.
        case granted(RefreshToken)
        /// The command that ends the session reported success.
        case ended
        /// 400 `invalid_grant`.
        case refused
        /// 503 `temporarily_unavailable`, exactly as the contract says.
        case unavailable
        /// No answer: the broker may or may not have acted.
        case unknown
        /// An answer outside the contract.
        case unexpected(String)
    }

    /// The `sid` of the login.
    let session: String
    /// The `client_id`; the operator has none.
    let app: String
    let act: Act
    let outcome: Outcome
    /// The broker asked; `nil` for a command.
    var broker: Int?
    /// `X-Request-Id` of the answer, to find its audit events.
    var request = ""
    /// The ledger has the answer, but the app did not get it.
    var isLost = false
    /// The app did not wait for an answer.
    var isAbandoned = false
    /// Monotonic times: before the first octet was sent, after the last one arrived.
    let sentAt: Duration
    let answeredAt: Duration

    var granted: RefreshToken? {
        if case .granted(let token) = outcome { token } else { nil }
    }

    var presented: RefreshToken? {
        switch act {
        case .refresh(let token), .replay(let token): token
        case .exchange, .end: nil
        }
    }

    var isReplay: Bool { act.isReplay }
    var isEnd: Bool { act.isEnd }

    /// Whether its answer arrived before the other was sent. Of two that overlap, neither precedes.
    func precedes(_ other: LedgerEntry) -> Bool { answeredAt < other.sentAt }
}

/// A period in which a broker was down or not yet back.
struct Downtime: Sendable {
    let broker: Int
    let from: Duration
    let until: Duration
}

/// The database's contents after the test.
struct FinalState: Sendable {
    struct Grant: Sendable {
        let session: String
        let app: String
        let id: String
        let generation: Int
        let isRevoked: Bool
    }

    var grants: [Grant] = []
    /// The `sid` of every session that has ended.
    var endedSessions: Set<String> = []
}
