/// Why an enrolment is refused. The raw text is what the audit shows; the caller sees less.
public enum EnrolmentRefusal: Error, Sendable, Hashable {
    /// The client's assertion was used before, at whichever replica. RFC 7523 §3, 7.
    case assertionReplayed
    /// The DPoP proof was used before, at whichever replica. RFC 9449 §11.1.
    case proofReplayed

    // Form and cryptography: RFC 8693 §2.2.2.
    case idToken(SubjectTokenDefect)

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

    public var reason: String {
        switch self {
        case .assertionReplayed: "client_assertion_replayed"
        case .proofReplayed: "dpop_replayed"
        case .idToken(let defect): defect.rawValue
        case .otherClient: "enrolment_other_client"
        case .expired: "enrolment_token_expired"
        case .stale: "enrolment_token_stale"
        case .deviceHashMismatch: "device_hash_mismatch"
        case .clientDisabled: "client_disabled"
        case .clientNotInGroup: "client_not_in_group"
        case .directionForbidden: "direction_forbidden"
        case .loginEnded: "enrolment_login_ended"
        case .deviceBlocked: "device_blocked"
        case .pinConflict: "pin_conflict"
        case .tokenUsed: "enrolment_token_used"
        case .scopeLacksOpenID: "scope_lacks_openid"
        case .scopeLacksDeviceSSO: "scope_lacks_device_sso"
        case .scopeExceedsClient: "scope_exceeds_client"
        }
    }

    /// Every refusal there is, for tests that must not forget one.
    public static let allCases: [EnrolmentRefusal] =
        SubjectTokenDefect.allCases.map(EnrolmentRefusal.idToken) + [
            .assertionReplayed, .proofReplayed, .otherClient, .expired, .stale, .deviceHashMismatch, .clientDisabled,
            .clientNotInGroup, .directionForbidden, .loginEnded, .deviceBlocked, .pinConflict, .tokenUsed,
            .scopeLacksOpenID, .scopeLacksDeviceSSO, .scopeExceedsClient,
        ]
}

public typealias EnrolmentError = GrantError<EnrolmentRefusal>
