/// Why a session is no longer live.
enum SessionDeath: Sendable, Hashable {
    /// By logout or by an operator.
    case ended
    /// Its absolute lifetime is over.
    case expired
    /// It was not used for longer than the idle limit.
    case idle
}

extension SessionFacts {
    /// `nil` while the session is live. It is dead at the very second of its expiry.
    func refusal(idleLimit: Seconds, at now: UnixTime) -> SessionDeath? {
        if endedAt != nil { return .ended }
        if now >= expiresAt { return .expired }
        if now.since(lastUsedAt) >= idleLimit { return .idle }
        return nil
    }
}
