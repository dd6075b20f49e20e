package import NativeSSO
import PostgresClient

package enum GrantSelection: Sendable, Hashable {
    case grant(UniqueID)
    /// By the session's row id.
    case sessionRow(UniqueID)
    /// In the sessions that ``SessionSelection/session(_:_:)`` means.
    case session(Issuer, SessionID)
    case subject(Issuer, Subject)
    case client(ClientID)
}

package struct GrantRecord: Sendable, Hashable {
    package let id: UniqueID
    package let client: ClientID
    package let generation: Int32
    /// `nil` if no answer with the last generation could be made: then the registry no longer knows.
    package let rotatedAt: UnixTime?
    /// No answer with the last generation could be made, so the token before it stays good until the last one is presented.
    package var isUnanswered: Bool { rotatedAt == nil }
    package let scope: Scope
    package let createdAt: UnixTime
    package let expiresAt: UnixTime
    package let revokedAt: UnixTime?
    package let revokeReason: String?
    /// The row of its session.
    package let session: UniqueID
    package let issuer: Issuer
    /// `nil` for a session that ended before the broker first saw it.
    package let subject: Subject?
}

extension Administration {
    /// The newest grants first, at most `limit`; `nil`: all.
    /// - Parameters:
    ///   - liveOnly: Only unrevoked, unexpired grants of live sessions.
    ///   - row: Return only grants older than this one, to continue a listing.
    package func grants(
        _ selection: GrantSelection, liveOnly: Bool, limit: Int64?, before row: UniqueID? = nil
    ) async throws(AdministrationError) -> [GrantRecord] {
        let chosen: [PostgresValue] =
            switch selection {
            case .grant(let id): [.uuid(id), .null, .null, .null, .null, .null, .null, .null]
            case .sessionRow(let id): [.null, .uuid(id), .null, .null, .null, .null, .null, .null]
            case .session(let issuer, let sid):
                [.null, .null] + SessionStatements.names(issuer, sid) + [.null, .null, .null]
            case .subject(let issuer, let subject):
                [.null, .null, .null, .null, .null, .text(issuer.string), .text(subject.string), .null]
            case .client(let client): [.null, .null, .null, .null, .null, .null, .null, .text(client.string)]
            }
        return try await rows(
            GrantStatements.list,
            [.bool(liveOnly), .optionalInt64(limit), row.map { .uuid($0) } ?? .null] + chosen, GrantStatements.record)
    }

    /// Revokes grants. From the commit on, the broker refuses their refresh tokens. The app may exchange again while
    /// the session lives.
    /// - Returns: The grants that this call revoked.
    package func revoke(
        _ grants: [UniqueID], _ act: AdministrativeAct
    ) async throws(AdministrationError) -> [UniqueID] {
        try await lockedLast(grants) { (grants, onlyFree) async throws(AdministrationError) in
            try await rows(
                GrantStatements.revoke,
                [
                    .uuidArray(grants.map(\.octets)), .text(act.actor), .optionalText(act.reason),
                    .uuid(act.requestID), .bool(onlyFree),
                ]
            ) { try $0.uniqueID(0) }
        }
    }
}

enum GrantStatements {
    /// A marked grant has the end of the grant as `rotated_at`: see `mark_unanswered`.
    ///
    /// $1 only live ones, $2 limit or NULL, $3 before which row. The others are filters; NULL matches all: $4 grant,
    /// $5 session row, $6 to $8 name, $9 IdP and $10 subject, $11 client.
    static let list = Statement(
        """
        SELECT g.grant_id, g.client_id, g.generation, CASE WHEN g.rotated_at < g.expires_at THEN g.rotated_at END, g.scope, g.created_at, g.expires_at, g.revoked_at,
            g.revoke_reason, s.issuer, s.session_id, s.subject
        FROM native_sso.sso_grant g JOIN native_sso.session_state s USING (session_id)
        WHERE g.grant_id < coalesce($3, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid)
            AND (NOT $1 OR g.revoked_at IS NULL AND g.expires_at > now() AND s.ended_at IS NULL AND s.expires_at > now())
            AND ($4::uuid IS NULL OR g.grant_id = $4) AND ($5::uuid IS NULL OR g.session_id = $5)
            AND ($7::bytea IS NULL OR native_sso.is_named(s, $6, $7, $8))
            AND ($9::text IS NULL OR s.idp_issuer = $9) AND ($10::text IS NULL OR s.subject = $10)
            AND ($11::text IS NULL OR g.client_id = $11)
        ORDER BY g.grant_id DESC LIMIT $2
        """)

    /// $1 grants, $2 who, $3 why, $4 act, $5 skip locked grants.
    static let revoke = Statement(
        """
        WITH free AS (
            SELECT grant_id FROM native_sso.sso_grant WHERE $5 AND grant_id = ANY ($1) AND revoked_at IS NULL
            ORDER BY grant_id FOR NO KEY UPDATE SKIP LOCKED
        ), awaited AS (
            SELECT grant_id FROM native_sso.sso_grant WHERE NOT $5 AND grant_id = ANY ($1) AND revoked_at IS NULL
            ORDER BY grant_id FOR NO KEY UPDATE
        ), revoked AS (
            UPDATE native_sso.sso_grant SET revoked_at = date_trunc('second', now()), revoke_reason = 'operator', claims = NULL
            WHERE grant_id IN (SELECT grant_id FROM free UNION ALL SELECT grant_id FROM awaited)
            RETURNING grant_id, client_id, session_id
        ), audited AS (
            INSERT INTO native_sso.audit_event (occurred_at, kind, request_id, client_id, session_id, grant_id, reason, actor, details)
            SELECT now(), 'grant_revoked', $4, client_id, session_id, grant_id, 'operator', $2::text,
                jsonb_strip_nulls(jsonb_build_object('why', $3::text))
            FROM revoked
        )
        SELECT grant_id FROM revoked
        """)

    static func record(_ row: Row) throws -> GrantRecord {
        GrantRecord(
            id: try row.uniqueID(0), client: try row.identifier(try row.text(1), "client_id"),
            generation: try row.int32(2), rotatedAt: try row.optionalInstant(3), scope: Scope(try row.textArray(4)),
            createdAt: try row.instant(5), expiresAt: try row.instant(6), revokedAt: try row.optionalInstant(7),
            revokeReason: try row.optionalText(8), session: try row.uniqueID(10),
            issuer: try row.identifier(try row.text(9), "issuer"),
            subject: try row.optionalText(11).map { try row.identifier($0, "subject") })
    }
}
