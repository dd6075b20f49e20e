import PostgresClient

extension HotStatement {
    /// The work of a call that is granted, as one statement without a function, with the same parameters and the like answer:
    /// what the functions cost is set beside it. The broker cannot send it, for it may not touch the tables; and it grants, or
    /// changes nothing and does not say why.
    var inline: Statement {
        switch self {
        case .admit: Self.admittedInline
        case .advance: Self.advancedInline
        }
    }

    private static let admittedInline = Statement(
        """
        WITH look AS (
            SELECT s.group_id AS source_group, s.role AS source_role, t.group_id AS target_group, t.role AS target_role,
                t.scope_ceiling, l.session_id, l.subject, l.expires_at, l.last_used_at
            FROM (
                SELECT l.session_id, l.subject, l.expires_at, l.last_used_at FROM native_sso.session l
                WHERE l.issuer = $2::text AND l.sid = $3::text AND l.subject = $4::text
                    AND l.ended_at IS NULL AND clock_timestamp() < l.expires_at
                    AND clock_timestamp() < l.last_used_at + make_interval(secs => $16::bigint)
                FOR SHARE) AS l,
                native_sso.sharing_group_member s, native_sso.sharing_group_member t
            WHERE s.issuer = $2::text AND s.client_id = $5::text AND t.issuer = $2::text AND t.client_id = $7::text
                AND s.group_id = t.group_id AND s.role <> 'target' AND t.role <> 'source'
                AND ($7::text <> $5::text OR $8::boolean) AND cardinality($6::text[]) = 0 AND $19::boolean
                AND (SELECT c.enabled FROM native_sso.client c WHERE c.client_id = $7::text)
                AND (
                    SELECT d.blocked_at FROM native_sso.device d
                    WHERE d.issuer = $2::text AND d.device_digest = $9::bytea) IS NULL
                AND (t.scope_ceiling IS NULL OR $11::text[] <@ t.scope_ceiling::text[])
        ), granted AS (
            UPDATE native_sso.sso_grant g SET
                generation = CASE WHEN native_sso.is_repeated(
                    g, date_trunc('second', clock_timestamp()), $5::text, $9::bytea, $11::text[], $12::text[], $23::text,
                    $13::timestamptz, $14::text, $15::text[])
                    THEN g.generation ELSE g.generation + 1 END,
                exchanged_generation = CASE WHEN native_sso.is_repeated(
                    g, date_trunc('second', clock_timestamp()), $5::text, $9::bytea, $11::text[], $12::text[], $23::text,
                    $13::timestamptz, $14::text, $15::text[])
                    THEN g.generation ELSE g.generation + 1 END,
                rotated_at = CASE WHEN native_sso.is_repeated(
                    g, date_trunc('second', clock_timestamp()), $5::text, $9::bytea, $11::text[], $12::text[], $23::text,
                    $13::timestamptz, $14::text, $15::text[])
                    THEN g.rotated_at ELSE date_trunc('second', clock_timestamp()) END,
                spent = CASE WHEN native_sso.is_spending(g) THEN native_sso.spent_by_exchange(g) ELSE g.spent END,
                source_client_id = $5::text, device_digest = $9::bytea, scope = $11::text[], audiences = $12::text[],
                auth_time = $13::timestamptz, acr = $14::text, amr = $15::text[], jkt = $23::text,
                expires_at = least(look.expires_at, clock_timestamp() + make_interval(secs => $17::bigint))
            FROM look
            WHERE g.session_id = look.session_id AND g.client_id = $7::text AND g.revoked_at IS NULL
                AND (g.replayed_before IS NULL OR g.replayed_before < $13::timestamptz)
            RETURNING g.grant_id, g.generation, g.expires_at AS grant_expires_at, look.*
        ), audited AS (
            INSERT INTO native_sso.audit_event (occurred_at, kind, request_id, client_id, session_id, grant_id)
            SELECT clock_timestamp(), 'exchange_granted', $1::uuid, $7::text, session_id, grant_id FROM granted
        )
        SELECT ROW (
            clock_timestamp(), true, source_group, source_role, target_group, target_role, scope_ceiling::text[], true,
            session_id, subject, NULL::timestamptz, expires_at, last_used_at, false, grant_id, generation, grant_expires_at,
            NULL::text, false, false, false)
        FROM granted
        WHERE $10::text IS NOT NULL AND $18::bigint IS NOT NULL AND $20::uuid IS NOT NULL AND $21::uuid IS NOT NULL
            AND num_nonnulls(
                $22::boolean, $23::text, $24::bytea, $25::bigint, $26::timestamptz, $27::bytea, $28::timestamptz) = 1
        """)

    private static let advancedInline = Statement(
        """
        UPDATE native_sso.sso_grant g SET
            generation = g.generation + 1, refreshed_generation = g.generation + 1,
            rotated_at = date_trunc('second', clock_timestamp()), jkt = coalesce($11::text, g.jkt)
        FROM (
            SELECT l.session_id, l.issuer, l.idp_issuer, l.sid, l.subject, l.ended_at, l.expires_at, l.last_used_at
            FROM native_sso.session l
            WHERE l.session_id = (SELECT k.session_id FROM native_sso.sso_grant k WHERE k.grant_id = $2)
                AND l.ended_at IS NULL AND clock_timestamp() < l.expires_at
                AND clock_timestamp() < l.last_used_at + make_interval(secs => $8::bigint)
            FOR SHARE) AS l
        WHERE g.grant_id = $2 AND g.session_id = l.session_id AND g.generation = $3::integer
            AND g.client_id = $4::text AND g.revoked_at IS NULL AND clock_timestamp() < g.expires_at
            AND (SELECT c.enabled FROM native_sso.client c WHERE c.client_id = $4::text)
            AND (
                SELECT d.blocked_at FROM native_sso.device d
                WHERE d.issuer = l.issuer AND d.device_digest = g.device_digest) IS NULL
            AND (SELECT t.role <> 'source' AND (
                    SELECT s.role <> 'target' FROM native_sso.sharing_group_member s
                    WHERE s.issuer = l.idp_issuer AND s.client_id = g.source_client_id AND s.group_id = t.group_id)
                FROM native_sso.sharing_group_member t WHERE t.issuer = l.idp_issuer AND t.client_id = $4::text)
            AND ($5::text[] IS NULL OR $5::text[] <@ g.scope AND $5::text[] <@ $6::text[])
            AND coalesce($5::text[], g.scope) && $6::text[]
            AND $1::uuid IS NOT NULL AND $7::bigint IS NOT NULL
            AND num_nonnulls(
                $9::bigint, $10::boolean, $11::text, $12::bytea, $13::bigint, $14::bytea, $15::timestamptz) = 2
        RETURNING ROW (
            clock_timestamp(), 'advanced'::text, g.client_id, g.generation, g.rotated_at, g.revoked_at, g.expires_at,
            g.scope, g.audiences, g.auth_time, g.acr, g.amr, l.sid, l.session_id, l.subject, l.ended_at, l.expires_at,
            l.last_used_at, true, true, NULL::text[], false, NULL::text, false, g.refreshed_generation,
            g.exchanged_generation, false, false, false)
        """)
}
