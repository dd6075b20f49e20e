package import NativeSSO
import PostgresClient

/// Whose sessions a support desk looks for.
package enum SupportedSelection: Sendable {
    /// `sub` as the identity provider writes it.
    case user(Issuer, Subject)
    /// Those on the device of a session.
    case device(ofSession: UniqueID)

    fileprivate var parameters: [PostgresValue] {
        switch self {
        case .user(let issuer, let subject): [.text(issuer.string), .text(subject.string), .null]
        case .device(let session): [.null, .null, .uuid(session)]
        }
    }
}

/// A session as a support desk sees it.
package struct SupportedSession: Sendable {
    package let id: UniqueID
    package let issuer: Issuer
    /// `nil` for a session that ended before the broker first saw it.
    package let subject: Subject?
    /// The apps with a grant in it.
    package let clients: [String]
    package let createdAt: UnixTime
    package let lastUsedAt: UnixTime
    package let expiresAt: UnixTime
    package let endedAt: UnixTime?
    package let endReason: String?

    package func isLive(at now: UnixTime) -> Bool { endedAt == nil && now < expiresAt }
}

/// What a member of `native_sso_support` may do. Each call leaves a record in the audit, also one that finds nothing.
extension Administration {
    /// The newest 1,000.
    package func supportedSessions(
        _ selection: SupportedSelection, _ act: AdministrativeAct
    ) async throws(AdministrationError) -> [SupportedSession] {
        try await rows(
            SupportStatements.find, [.optionalText(act.reason)] + selection.parameters + [.text(act.actor)]
        ) { row in
            SupportedSession(
                id: try row.uniqueID(0), issuer: try row.identifier(try row.text(1), "idp_issuer"),
                subject: try row.optionalText(2).map { try row.identifier($0, "subject") },
                clients: try row.textArray(3), createdAt: try row.instant(4), lastUsedAt: try row.instant(5),
                expiresAt: try row.instant(6), endedAt: try row.optionalInstant(7),
                endReason: try row.optionalText(8))
        }
    }

    /// At most 1,000.
    /// - Returns: The sessions that this call ended.
    package func endSupported(
        _ selection: SupportedSelection, sameLoginMayReturn: Bool, _ act: AdministrativeAct
    ) async throws(AdministrationError) -> [UniqueID] {
        try await rows(
            SupportStatements.end,
            [.optionalText(act.reason)] + selection.parameters
                + [.text(act.actor), .bool(sameLoginMayReturn), .uuid(act.requestID)]
        ) { try $0.uniqueID(0) }
    }

    /// The events of one request of an app.
    package func explainSupported(
        _ requestID: UniqueID, _ act: AdministrativeAct
    ) async throws(AdministrationError) -> [AuditRecord] {
        try await rows(
            SupportStatements.explain, [.optionalText(act.reason), .uuid(requestID), .text(act.actor)],
            AuditListStatements.record)
    }
}

enum SupportStatements {
    /// $1 why, $2 IdP, $3 subject, $4 a session, $5 who.
    static let find = Statement(
        """
        SELECT session_id, idp_issuer, subject, clients, created_at, last_used_at, expires_at, ended_at, end_reason
        FROM native_sso.support_find_sessions($1, $2, $3, $4, $5)
        """)
    /// The same, and $6: the same login may return, $7: the act.
    static let end = Statement("SELECT * FROM native_sso.support_end_sessions($1, $2, $3, $4, $5, $6, $7)")
    /// $1 why, $2 request, $3 who.
    static let explain = Statement(
        "SELECT a.*, a.place::text FROM native_sso.support_explain_request($1, $2, $3) a")
}
