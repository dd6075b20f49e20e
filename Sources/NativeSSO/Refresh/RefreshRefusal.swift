/// Why a refresh is refused. The raw value is what the audit shows.
public enum RefreshRefusal: String, Error, Sendable, Hashable, CaseIterable {
    /// Not a token of ours: wrong form, unknown key or wrong tag. No database was asked.
    case tokenNotOurs = "refresh_token_not_ours"
    /// The client's assertion was used before, at whichever replica. RFC 7523 §3, 7.
    case assertionReplayed = "client_assertion_replayed"
    /// The DPoP proof was used before, at whichever replica. RFC 9449 §11.1.
    case proofReplayed = "dpop_replayed"
    case grantUnknown = "grant_unknown"
    case grantRevoked = "grant_revoked"
    case grantExpired = "grant_expired"
    /// The chain is bound to a key, and the app showed none. RFC 9449 §5.
    case proofMissing = "jkt_missing"
    /// The chain is bound to another key.
    case keyMismatch = "jkt_mismatch"
    /// The chain is bound to a key, and the client's policy is off by now.
    case proofsOff = "dpop_off"
    /// Issued to another client, which shows that it was copied: the chain is revoked.
    case foreignClient = "refresh_token_foreign_client"
    /// Spent, and its successor used: two hold the chain, which is revoked; only a later login begins another. RFC 9700 §4.14.2.
    case replayed = "refresh_token_reused"
    /// Spent, its successor not used, and the grace over: the answer was lost for long, or somebody has a copy. The chain is
    /// revoked; an exchange begins another.
    case late = "refresh_token_late"
    /// From before an exchange that began the chain anew, and not spent in a refresh: another part of the app, or the same after a
    /// lost answer. The chain lives on for who exchanged; this one exchanges again.
    case superseded = "refresh_token_superseded"
    /// We issued it, yet the database has not come that far: it lost writes. The chain is revoked.
    case stateRegressed = "state_regressed"
    case clientDisabled = "client_disabled"
    case sharingEnded = "sharing_ended"
    case sessionEnded = "session_ended"
    case sessionExpired = "session_expired"
    case sessionIdle = "session_idle"
    case deviceBlocked = "device_blocked"
    case scopeExceedsGrant = "scope_exceeds_grant"
    case scopeEmpty = "scope_empty"

    /// Whether the token shows that two parties hold the chain, so that it is revoked. RFC 9700 §4.14.2.
    public var revokesChain: Bool {
        switch self {
        case .foreignClient, .replayed, .late, .stateRegressed: true
        case .tokenNotOurs, .assertionReplayed, .superseded, .proofReplayed, .proofMissing, .keyMismatch, .proofsOff,
            .grantUnknown, .grantRevoked,
            .grantExpired, .clientDisabled, .sharingEnded,
            .sessionEnded, .sessionExpired, .sessionIdle, .deviceBlocked, .scopeExceedsGrant, .scopeEmpty:
            false
        }
    }
}
