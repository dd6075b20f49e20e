/// Why an exchange is refused. `BrokerHTTP` has the table: reason, answer, cause and remedy of each case.
public enum ExchangeRefusal: Error, Sendable, CaseIterable {
    /// `may_act` names another client. RFC 8693 §4.4.
    case mayActOther

    /// The client's assertion was used before, at whichever replica. RFC 7523 §3, 7.
    case assertionReplayed
    /// The DPoP proof was used before, at whichever replica. RFC 9449 §11.1.
    case proofReplayed

    // State, binding, relationship: Native SSO §4.3. One answer for all of them.
    case subjectTokenTooOld
    case subjectTokenExpired
    case deviceHashMismatch
    case selfExchange
    case sourceNotInGroup
    case clientNotInGroup
    case otherGroup
    case directionForbidden
    case audienceOutsideGroup
    case clientDisabled
    case sessionUnknown
    /// The session is unknown, and the key of the id_token has left the identity provider's key set.
    case firstSightKeyNotCurrent
    /// The session is unknown, and the id_token was issued too long ago to bring it in.
    case firstSightTokenTooOld
    /// The session is live, but an earlier one of the same name ended after this id_token, or its login.
    case subjectTokenBeforeEnd
    case sessionEnded
    case sessionExpired
    case sessionIdle
    case subjectMismatch
    case deviceBlocked
    /// On this device the client has shown another key before, or now shows none.
    case pinConflict

    // Scope: RFC 6749 §3.3.
    case scopeLacksOpenID
    case scopeEmpty
    case scopeExceedsClient
    case scopeExceedsMember

    // The user must act: Native SSO §4.4.
    case consentRequired
    case assuranceInsufficient
    /// A copy of this client's refresh token was used in this session: whoever holds the id_token may be the thief, so that only
    /// a login that came after goes on. RFC 9700 §4.14.2.
    case loginAfterReplay
}
