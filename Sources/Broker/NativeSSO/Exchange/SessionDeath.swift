/// Why a session is no longer live.
package enum SessionDeath: Sendable, Hashable {
    /// By logout or by an operator.
    case ended
    /// Its absolute lifetime is over.
    case expired
    /// It was not used for longer than the idle limit.
    case idle
}

extension SessionFacts {
    /// `nil` while the session is live. It is dead at the very second of its expiry.
    package func refusal(idleLimit: Seconds, at now: UnixTime) -> SessionDeath? {
        if endedAt != nil { return .ended }
        if now >= expiresAt { return .expired }
        if now.since(lastUsedAt) >= idleLimit { return .idle }
        return nil
    }

    /// Whether an id_token counts after the ends of this name. Instants are compared exactly, without leeway.
    func counts(_ idToken: IDTokenClaims) -> Bool {
        if let iatAfter, idToken.issuedAt <= iatAfter { return false }
        guard let authTimeAfter else { return true }
        return idToken.login.authenticatedAt.map { $0 > authTimeAfter } ?? false
    }

    /// Whether a session that died of `death` makes room for one that begins with `idToken`. What an end that was recorded asks,
    /// ``counts(_:)`` knows. An end by time asks for a later id_token; after the absolute lifetime, for a later login.
    func makesRoom(for idToken: IDTokenClaims, after death: SessionDeath, idleLimit: Seconds) -> Bool {
        switch death {
        case .ended: true
        case .expired where hasAuthTime: idToken.login.authenticatedAt.map { $0 > expiresAt } ?? false
        case .expired: idToken.issuedAt > expiresAt
        case .idle: idToken.issuedAt > lastUsedAt.adding(idleLimit)
        }
    }
}
