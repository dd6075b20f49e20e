import Synchronization

/// What an identity provider gave for a code and no app got: its refresh token is revoked there, as far as that can be done. The
/// app does not wait for it. What became of it is audited under the request's id.
final class OrphanedTokens: Sendable {
    private let relay: any CodeRelay
    private let audit: any AuditTrail
    private let clock: any WallClock
    private let pending: PendingCodes
    private let asked = Mutex<[Issuer: Int]>([:])

    init(relay: any CodeRelay, audit: any AuditTrail, clock: any WallClock, pending: PendingCodes) {
        self.relay = relay
        self.audit = audit
        self.clock = clock
        self.pending = pending
    }

    /// Only where it is certain that no app has it, or can get it.
    func revoke(_ refreshToken: String?, of request: CodeRequest) {
        guard let refreshToken, let policy = request.issuer.codeRelay else { return }
        guard policy.revokesOrphans else { return record(.switchedOff, request) }
        let issuer = request.issuer.issuer
        // An identity provider that hangs must not hold any number of them.
        let isIn = asked.withLock { asked in
            guard asked[issuer, default: 0] < policy.revocationsAtOnce else { return false }
            asked[issuer, default: 0] += 1
            return true
        }
        guard isIn else { return record(.failed, request) }
        pending.run { [self] in
            let outcome = await relay.revoke(refreshToken, of: request.client.id, at: issuer)
            asked.withLock { $0[issuer, default: 1] -= 1 }
            record(outcome, request)
        }
    }

    /// An app may have it: a token that is in use must not be revoked.
    func leave(_ refreshToken: String?, of request: CodeRequest) {
        guard refreshToken != nil else { return }
        record(.outcomeUnknown, request)
    }

    private func record(_ outcome: RevocationOutcome, _ request: CodeRequest) {
        audit.record(
            AuditEvent(
                kind: .codeOrphaned, requestID: request.requestID, occurredAtMilliseconds: clock.milliseconds,
                client: request.client.id, reason: outcome.rawValue))
    }
}
