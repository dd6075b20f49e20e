/// What an audit event is about: every kind that the schema's functions and this room record. `native-sso explain` has a sentence
/// for each, and does not compile without.
public enum AuditKind: String, Sendable, CaseIterable {
    // Requests of apps and identity providers. What ends in `_refused` changed nothing.
    case requestRefused = "request_refused"
    case exchangeRefused = "exchange_refused"
    case enrolmentRefused = "enrolment_refused"
    case refreshRefused = "refresh_refused"
    case logoutRefused = "logout_refused"
    case exchangeGranted = "exchange_granted"
    case sessionEnrolled = "session_enrolled"
    /// The same id_token and device value again, which lead to the same session.
    case enrolmentRepeated = "enrolment_repeated"
    case logoutRecorded = "logout_recorded"
    /// An identity provider gave tokens for a code, and no app got them.
    case codeOrphaned = "code_orphaned"

    // Of either: by a request, or by an operator.
    case sessionEnded = "session_ended"
    case grantRevoked = "grant_revoked"
    case sessionRegistered = "session_registered"
    /// A registration told by which name the provider's logout ends a login that was there.
    case sessionMapped = "session_mapped"

    // Acts of operators.
    case clientAdded = "client_added"
    case clientUpdated = "client_updated"
    case clientRemoved = "client_removed"
    case clientSecretAdded = "client_secret_added"
    case clientSecretRetired = "client_secret_retired"
    case clientKeyAdded = "client_key_added"
    case clientKeyRemoved = "client_key_removed"
    case groupAdded = "group_added"
    case groupRemoved = "group_removed"
    case groupMemberSet = "group_member_set"
    case groupMemberRemoved = "group_member_removed"
    case scopeSet = "scope_set"
    case scopeRemoved = "scope_removed"
    case deviceBlocked = "device_blocked"
    case deviceUnblocked = "device_unblocked"
    case deviceUnpinned = "device_unpinned"
    case idpKeyRevoked = "idp_key_revoked"
    case keyAdded = "key_added"
    case keyPublished = "key_published"
    case keyActive = "key_active"
    case keyRetired = "key_retired"
    case keyRemoved = "key_removed"
    case retentionSet = "retention_set"
    case swept
}
