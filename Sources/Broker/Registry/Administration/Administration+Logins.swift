package import NativeSSO
import PostgresClient

/// What decides whether a client may use a login now, as the registry holds it.
package struct LoginRecord: Sendable {
    package let issuer: Issuer
    package let provider: Issuer
    package let subject: Subject?
    package let profile: Profile?
    package let sourceClient: ClientID?
    package let state: LoginSharing.Login
    package let endReason: String?
    package let deviceBlockedAt: UnixTime?
    package let accountDisabledAt: UnixTime?
    /// The key that the client must show on this device; `nil`: none.
    package let boundKey: String?
    /// The client's last grant in the session.
    package let grant: UniqueID?
    package let grantEndsAt: UnixTime?
    package let grantRevokedAt: UnixTime?
    package let grantRevokeReason: String?
}

extension Administration {
    /// The sessions with these row ids, the newest first.
    package func logins(
        _ sessions: [UniqueID], by client: ClientID
    ) async throws(AdministrationError) -> [LoginRecord] {
        try await rows(
            LoginStatements.select, [.uuidArray(sessions.map(\.octets)), .text(client.string)], LoginStatements.record)
    }
}

enum LoginStatements {
    /// $1 sessions, $2 client. Whether it needs a later login is asked as in `exchange`.
    static let select = Statement(
        """
        SELECT s.session_id, s.issuer::text, s.idp_issuer::text, s.subject::text, s.profile::text, s.source_client_id,
            s.ended_at, s.expires_at, s.last_used_at, s.iat_after, s.auth_time_after, s.auth_time, s.acr, s.amr,
            coalesce(s.issued_at, s.created_at), s.end_reason, d.blocked_at, o.disabled_at, d.pinned_keys ->> $2,
            coalesce(CASE WHEN g.grant_id IS NULL THEN (
                    SELECT max(r.revoked_at) FROM native_sso.sso_grant r
                    WHERE r.session_id = s.session_id AND r.client_id = $2 AND r.revoke_reason = 'refresh_token_reused')
                ELSE g.replayed_before END
                >= coalesce(s.auth_time, '-infinity'), false),
            g.grant_id, g.expires_at, g.revoked_at, g.revoke_reason
        FROM native_sso.session_state s
        LEFT JOIN native_sso.device d ON d.issuer = s.issuer AND d.device_digest = s.device_digest
        LEFT JOIN native_sso.subject_logout o ON o.idp_issuer = s.idp_issuer AND o.subject = s.subject
        LEFT JOIN LATERAL (
            SELECT g.* FROM native_sso.sso_grant g WHERE g.session_id = s.session_id AND g.client_id = $2
            ORDER BY g.revoked_at IS NULL DESC, g.created_at DESC LIMIT 1) g ON true
        WHERE s.session_id = ANY ($1) ORDER BY s.session_id DESC
        """)

    static func record(_ row: Row) throws -> LoginRecord {
        let subject: Subject? = try row.optionalText(3).map { try row.identifier($0, "subject") }
        let authTime = try row.optionalInstant(11)
        let (blocked, disabled) = (try row.optionalInstant(16), try row.optionalInstant(17))
        return LoginRecord(
            issuer: try row.identifier(try row.text(1), "issuer"),
            provider: try row.identifier(try row.text(2), "idp_issuer"), subject: subject,
            profile: try row.optionalText(4).map { try Profile($0, "profile") },
            sourceClient: try row.optionalText(5).map { try row.identifier($0, "source_client_id") },
            state: LoginSharing.Login(
                session: SessionFacts(
                    id: try row.uniqueID(0), subject: subject, endedAt: try row.optionalInstant(6),
                    expiresAt: try row.instant(7), lastUsedAt: try row.instant(8), hasAuthTime: authTime != nil,
                    iatAfter: try row.optionalInstant(9), authTimeAfter: try row.optionalInstant(10)),
                login: Login(
                    authenticatedAt: authTime, contextClass: try row.optionalText(12), methods: try row.textArray(13)),
                issuedAt: try row.instant(14), deviceIsBlocked: blocked != nil, accountIsDisabled: disabled != nil,
                needsLaterLogin: try row.bool(19)),
            endReason: try row.optionalText(15), deviceBlockedAt: blocked, accountDisabledAt: disabled,
            boundKey: try row.optionalText(18), grant: try row.isNull(20) ? nil : try row.uniqueID(20),
            grantEndsAt: try row.optionalInstant(21), grantRevokedAt: try row.optionalInstant(22),
            grantRevokeReason: try row.optionalText(23))
    }
}
