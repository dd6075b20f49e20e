/// Why an enrolment is refused. The raw text is what the audit shows; the caller sees less.
public enum EnrolmentRefusal: Error, Sendable, Hashable {
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
    /// Used before, with another device value.
    case tokenUsed

    // Scope: RFC 6749 §3.3, Native SSO §3.1.
    case scopeLacksOpenID
    case scopeLacksDeviceSSO
    case scopeExceedsClient

    public var reason: String {
        switch self {
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
        case .tokenUsed: "enrolment_token_used"
        case .scopeLacksOpenID: "scope_lacks_openid"
        case .scopeLacksDeviceSSO: "scope_lacks_device_sso"
        case .scopeExceedsClient: "scope_exceeds_client"
        }
    }

    /// Every refusal there is, for tests that must not forget one.
    public static let allCases: [EnrolmentRefusal] =
        SubjectTokenDefect.allCases.map(EnrolmentRefusal.idToken) + [
            .otherClient, .expired, .stale, .deviceHashMismatch, .clientDisabled, .clientNotInGroup,
            .directionForbidden, .loginEnded, .deviceBlocked, .tokenUsed, .scopeLacksOpenID, .scopeLacksDeviceSSO,
            .scopeExceedsClient,
        ]
}

public typealias EnrolmentError = GrantError<EnrolmentRefusal>
