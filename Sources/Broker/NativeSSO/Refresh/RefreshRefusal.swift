/// Why a refresh is refused.
public enum RefreshRefusal: Error, Sendable, CaseIterable {
    /// Not a token of ours: wrong form, unknown key or wrong tag. No database was asked.
    case tokenNotOurs
    /// The client's assertion was used before, at whichever replica. RFC 7523 §3, 7.
    case assertionReplayed
    /// The DPoP proof was used before, at whichever replica. RFC 9449 §11.1.
    case proofReplayed
    case grantUnknown
    case grantRevoked
    case grantExpired
    /// The chain is bound to a key, and the app showed none. RFC 9449 §5.
    case proofMissing
    /// The chain is bound to another key.
    case keyMismatch
    /// The chain is bound to a key, and the client's policy is off by now.
    case proofsOff
    /// Issued to another client, which shows that it was copied: the chain is revoked.
    case foreignClient
    /// Spent, and its successor used: two hold the chain, which is revoked; only a later login begins another. RFC 9700 §4.14.2.
    case replayed
    /// Spent, its successor not used, and the grace over: the answer was lost for long, or somebody has a copy. The chain is
    /// revoked; an exchange begins another.
    case late
    /// From before an exchange that began the chain anew, and not spent in a refresh: another part of the app, or the same after a
    /// lost answer. The chain lives on for who exchanged; this one exchanges again.
    case superseded
    /// We issued it, yet the database has not come that far: it lost writes. The chain is revoked.
    case stateRegressed
    case clientDisabled
    case sharingEnded
    case sessionEnded
    case sessionExpired
    case sessionIdle
    case deviceBlocked
    case scopeExceedsGrant
    case scopeEmpty

    /// Whether the token shows that two parties hold the chain, so that it is revoked. RFC 9700 §4.14.2.
    public var revokesChain: Bool {
        switch self {
        case .foreignClient, .replayed, .late, .stateRegressed: true
        default: false
        }
    }
}
