import PostgresClient

/// An id_token of a world. An earlier instant lies before everything that happens, a later one after it.
enum RaceLogin: String, CaseIterable, Sendable, CustomStringConvertible {
    case early
    /// A later id_token of the same login.
    case reissued
    case later

    var description: String { rawValue }
    var authenticatedAt: Int64 { self == .later ? 30 : -1000 }
    var issuedAt: Int64 { self == .early ? -1000 : 30 }
}

/// What one actor does in one step.
enum RaceCall: Sendable {
    case exchange(RaceLogin, audience: Int)
    /// The app refreshes with what it has. A lost answer: it does not learn of the next token.
    case refresh(loses: Bool)
    /// Somebody refreshes with any token that there ever was.
    case replay
    /// An operator ends the newest session of the name.
    case end(sameLoginMayReturn: Bool)
    case beginLogout(ofUser: Bool)
    case endLoggedOut(ofUser: Bool, limit: Int64)
    case finishLogout(ofUser: Bool)
}

enum RaceStatements {
    static let exchange = Statement(
        """
        SELECT a.session_id, a.grant_id, a.generation FROM unnest(native_sso.exchange(
            ARRAY[ROW (
                $1, $2, $3, $4, $5, '{}', $6, NULL, '{}', $7, $8, false, $9, 'device-id', $10, $11, NULL, false, true, $12, NULL,
                7776000, $13, $14, NULL, NULL)::native_sso.exchange_call])) AS a
        """)

    static let refresh = Statement(
        """
        SELECT a.session_id, a.effect, a.generation, a.ended_at IS NOT NULL, a.revoked_at IS NOT NULL AND NOT a.came_late,
            a.exchanged_generation
        FROM unnest(native_sso.refresh(
            ARRAY[ROW ($1, $2, $3, $4, NULL, NULL, $5, false, 600, 600, $6, NULL)::native_sso.refresh_call])) AS a
        """)

    /// The session that the operator meant, and whether this ended it.
    static let end = Statement(
        """
        SELECT l.session_id, e IS NOT NULL
        FROM (
            SELECT l.session_id FROM native_sso.session l WHERE l.issuer = $1 AND l.sid = $2
            ORDER BY coalesce(l.ended_at, 'infinity') DESC LIMIT 1) AS l
        LEFT JOIN LATERAL native_sso.end_sessions(ARRAY[l.session_id], 'operator', 'races', NULL, NULL, false, $3) AS e ON true
        """)

    static let beginLogout = Statement("SELECT native_sso.begin_logout($1, $2, $3, $4, $5, $6)")
    static let endLoggedOut = Statement(
        "SELECT after FROM native_sso.end_logged_out($1, $2, $3, $4, $5, $6, $7, false, $8)")
    static let finishLogout = Statement("SELECT native_sso.finish_logout($1, $2, $3, $4, $5, 0, $6)")

    /// A session: $1 id, $2 issuer, $3 sid, $4 subject, $5 device, $6 source client, $7 auth_time, $8 created, $9 expires, $10
    /// last used, $11 ended, $12 and $13 limits.
    static let insertSession = Statement(
        """
        INSERT INTO native_sso.session (
            session_id, issuer, sid, idp_issuer, idp_sid, subject, profile, device_digest, source_client_id, auth_time, amr,
            issued_at, created_at, expires_at, last_used_at, ended_at, end_reason, iat_after, auth_time_after)
        VALUES (
            $1, $2, $3, $2, $3, $4, 'device-id', $5, $6, $7, '{}', $7, $8, $9, $10, $11,
            CASE WHEN $11::timestamptz IS NOT NULL THEN 'operator' END, $12, $13)
        """)

    /// A grant: $1 id, $2 session, $3 client, $4 source client, $5 device, $6 generation, $7 rotated, $8 scope, $9 audiences, $10
    /// auth_time, $11 expires, $12 came late.
    static let insertGrant = Statement(
        """
        INSERT INTO native_sso.sso_grant (
            grant_id, session_id, client_id, source_client_id, device_digest, generation, rotated_at, scope, audiences, auth_time,
            amr, created_at, expires_at, refreshed_generation, revoked_at, revoke_reason)
        VALUES (
            $1, $2, $3, $4, $5, $6::integer, $7, $8, $9, $10, '{}', $7, $11, CASE WHEN $6 > 1 THEN $6 ELSE 0 END, $12,
            CASE WHEN $12::timestamptz IS NOT NULL THEN 'refresh_token_late' END)
        """)

    /// The sessions of a name: id, whether it is over, and whether a live one has looser limits than it.
    static let sessions = Statement(
        """
        SELECT l.session_id, l.ended_at IS NOT NULL,
            n.session_id IS NOT NULL AND (greatest(l.iat_after, n.iat_after) IS DISTINCT FROM n.iat_after
                OR greatest(l.auth_time_after, n.auth_time_after) IS DISTINCT FROM n.auth_time_after)
        FROM native_sso.session l LEFT JOIN native_sso.session n ON n.issuer = $1 AND n.sid = $2 AND n.ended_at IS NULL
        WHERE l.issuer = $1 AND l.sid = $2
        """)

    /// Their grants: id, generation, reason of the revocation, whether another is live beside it, and whether it is live although its
    /// login came before a proven theft.
    static let grants = Statement(
        """
        SELECT g.grant_id, g.generation, g.revoke_reason,
            g.revoked_at IS NULL AND EXISTS (
                SELECT FROM native_sso.sso_grant o
                WHERE o.session_id = g.session_id AND o.client_id = g.client_id AND o.revoked_at IS NULL
                    AND o.grant_id <> g.grant_id),
            g.revoked_at IS NULL AND EXISTS (
                SELECT FROM native_sso.sso_grant o
                WHERE o.session_id = g.session_id AND o.client_id = g.client_id AND o.revoke_reason = 'refresh_token_reused'
                    AND o.revoked_at >= g.auth_time)
        FROM native_sso.sso_grant g JOIN native_sso.session l USING (session_id)
        WHERE l.issuer = $1 AND l.sid = $2
        """)

    /// All that a world has left, the marks of its logouts included.
    static let clear = Statement("DELETE FROM native_sso.session WHERE idp_issuer = $1 AND idp_sid = $2")

    static let ownProcess = Statement("SELECT pg_backend_pid()")
    /// Which of these processes wait for another.
    static let waiting = Statement(
        "SELECT pid FROM unnest($1::text[]::integer[]) AS pid WHERE cardinality(pg_blocking_pids(pid)) > 0")
}
