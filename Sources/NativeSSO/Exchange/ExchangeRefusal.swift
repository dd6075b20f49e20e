/// Why an exchange is refused. The raw text is what the audit shows; the caller sees less (`BrokerHTTP` maps each case
/// to its OAuth error).
public enum ExchangeRefusal: Error, Sendable, Hashable {
    // Form and cryptography: RFC 8693 §2.2.2.
    case subjectToken(SubjectTokenDefect)
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

    public var reason: String {
        switch self {
        case .subjectToken(let defect): defect.rawValue
        case .mayActOther: "may_act_other_client"
        case .assertionReplayed: "client_assertion_replayed"
        case .proofReplayed: "dpop_replayed"
        case .subjectTokenTooOld: "subject_token_too_old"
        case .subjectTokenExpired: "subject_token_expired"
        case .deviceHashMismatch: "device_hash_mismatch"
        case .selfExchange: "self_exchange"
        case .sourceNotInGroup: "source_not_in_group"
        case .clientNotInGroup: "client_not_in_group"
        case .otherGroup: "group_mismatch"
        case .directionForbidden: "direction_forbidden"
        case .audienceOutsideGroup: "audience_outside_group"
        case .clientDisabled: "client_disabled"
        case .sessionUnknown: "session_unknown"
        case .sessionEnded: "session_ended"
        case .sessionExpired: "session_expired"
        case .sessionIdle: "session_idle"
        case .subjectMismatch: "subject_mismatch"
        case .deviceBlocked: "device_blocked"
        case .pinConflict: "pin_conflict"
        case .scopeLacksOpenID: "scope_lacks_openid"
        case .scopeEmpty: "scope_empty"
        case .scopeExceedsClient: "scope_exceeds_client"
        case .scopeExceedsMember: "scope_exceeds_member"
        case .consentRequired: "consent_required"
        case .assuranceInsufficient: "assurance_insufficient"
        case .loginAfterReplay: "login_after_replay"
        }
    }

    /// Every refusal there is, for tests that must not forget one.
    public static let allCases: [ExchangeRefusal] =
        SubjectTokenDefect.allCases.map(ExchangeRefusal.subjectToken) + [
            .mayActOther, .assertionReplayed, .proofReplayed, .subjectTokenTooOld, .subjectTokenExpired,
            .deviceHashMismatch, .selfExchange, .sourceNotInGroup, .clientNotInGroup, .otherGroup, .directionForbidden,
            .audienceOutsideGroup,
            .clientDisabled, .sessionUnknown, .sessionEnded, .sessionExpired, .sessionIdle, .subjectMismatch,
            .deviceBlocked, .pinConflict, .scopeLacksOpenID, .scopeEmpty, .scopeExceedsClient, .scopeExceedsMember,
            .consentRequired, .assuranceInsufficient, .loginAfterReplay,
        ]
}
