/// Why an enrolment is refused.
public enum EnrolmentRefusal: Error, Sendable, CaseIterable {
    /// The client's assertion was used before, at whichever replica. RFC 7523 §3, 7.
    case assertionReplayed
    /// The DPoP proof was used before, at whichever replica. RFC 9449 §11.1.
    case proofReplayed

    // State, binding, relationship. One answer for all of them.
    /// Issued to another app, or to several.
    case otherClient
    case expired
    /// Issued too long ago to be the login that just happened.
    case stale
    /// The identity provider has bound the token to a device that was not shown.
    case deviceHashMismatch
    case clientDisabled
    case clientNotInGroup
    case directionForbidden
    case loginEnded
    case deviceBlocked
    /// On this device the app has shown another key before.
    case pinConflict
    /// Used before, with another device value.
    case tokenUsed

    // Scope: RFC 6749 §3.3, Native SSO §3.1.
    case scopeLacksOpenID
    case scopeLacksDeviceSSO
    case scopeExceedsClient
}

public typealias EnrolmentError = GrantError<EnrolmentRefusal>
