/// One request and its outcome, as the sender saw it.
struct LedgerEntry: Sendable {
    enum Act: Sendable {
        /// An app exchanges the login.
        case exchange
        /// An app refreshes with the newest token that it has.
        case refresh(RefreshToken)
        /// Somebody presents a token that was spent, and whose successor was spent too.
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
        /// The command that ends the session said that it is done.
        case ended
        /// 400 `invalid_grant`.
        case refused
        /// 503 `temporarily_unavailable`, to the letter of the contract.
        case unavailable
        /// No answer: it may have happened, or not.
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
    /// Which one was asked; `nil` for a command.
    var broker: Int?
    /// `X-Request-Id` of the answer: the audit knows more by it.
    var request = ""
    /// The answer came and was lost on the last step of its way: the app knows nothing of it, the ledger does.
    var isLost = false
    /// The app did not wait for an answer.
    var isAbandoned = false
    /// On one clock that never jumps: before the first octet was sent, after the last one came.
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

    /// Whether its outcome was known before the other was asked for. Of two that overlap neither precedes.
    func precedes(_ other: LedgerEntry) -> Bool { answeredAt < other.sentAt }
}

/// A time in which a broker was dead, or not yet back.
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
