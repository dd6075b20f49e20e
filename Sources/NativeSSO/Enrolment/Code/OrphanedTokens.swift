/// What an identity provider gave for a code and no app got: its refresh token is revoked there, as far as that can be done.
/// Nobody waits for it.
struct OrphanedTokens: Sendable {
    private let relay: any CodeRelay
    private let audit: any AuditTrail
    private let clock: any WallClock

    init(relay: any CodeRelay, audit: any AuditTrail, clock: any WallClock) {
        self.relay = relay
        self.audit = audit
        self.clock = clock
    }

    /// Returns at once. What became of it is audited under the request's id.
    func revoke(_ refreshToken: String?, of request: CodeRequest) {
        guard let refreshToken else { return }
        Task {
            let outcome = await relay.revoke(refreshToken, of: request.client.id, at: request.issuer.issuer)
            audit.record(
                AuditEvent(
                    kind: .codeOrphaned, requestID: request.requestID, occurredAtMilliseconds: clock.milliseconds,
                    client: request.client.id, reason: outcome.rawValue))
        }
    }
}
