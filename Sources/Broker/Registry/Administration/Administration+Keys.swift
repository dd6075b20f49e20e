package import NativeSSO
import PostgresClient

/// What live logins may depend on a key. The database does not record which key made a token, so the times decide: each
/// number is an upper bound.
package struct KeyDependents: Sendable, Hashable {
    /// Live token families whose current refresh token the key may have made.
    package var families: Int64 = 0
    /// Unexpired access tokens that the key may have signed: one for each live family.
    package var accessTokens: Int64 = 0
    /// Live enrolled logins whose id_token, in the keychain of a device, the key may have signed.
    package var idTokens: Int64 = 0
    /// Devices of live sessions, whose digests the key has made.
    package var devices: Int64 = 0

    package init() {}
}

extension Administration {
    /// - Parameter accessTokenLife: The longest lifetime of an access token.
    package func dependents(
        of key: KeyRecord, accessTokenLife: Seconds
    ) async throws(AdministrationError) -> KeyDependents {
        guard key.activatedAt != nil else { return KeyDependents() }
        let counts = try await rows(
            KeyDependentStatements.count, Self.parameters(key) + [.int64(accessTokenLife.count)]
        ) { row in
            var found = KeyDependents()
            (found.families, found.accessTokens) = (try row.int64(0), try row.int64(1))
            (found.idTokens, found.devices) = (try row.int64(2), try row.int64(3))
            return found
        }
        return counts.first ?? KeyDependents()
    }

    /// The live families to end with a compromised key: those whose refresh token it made, and those of enrolled logins
    /// whose id_token it signed.
    package func families(dependingOn key: KeyRecord) async throws(AdministrationError) -> [UniqueID] {
        guard key.activatedAt != nil else { return [] }
        return try await rows(KeyDependentStatements.families, Self.parameters(key)) { try $0.uniqueID(0) }
    }

    private static func parameters(_ key: KeyRecord) -> [PostgresValue] {
        [.text(key.kid), .text(key.use.rawValue), .text(key.algorithm.rawValue)]
    }
}

/// A broker reads the keys within seconds of a change. A repeated refresh, at most 10 minutes after the first, makes its
/// token with the newer key. The statements allow for both. `mark_unanswered` moves `rotated_at` to the end of the grant:
/// any key may have made the token that its app holds.
enum KeyDependentStatements {
    /// $1 kid, $2 use, $3 algorithm, $4 lifetime of access tokens in seconds.
    static let count = Statement(
        """
        WITH k AS (
            SELECT activated_at - interval '10 minutes' AS since, coalesce(retired_at, now()) + interval '1 minute' AS until
            FROM native_sso.signing_key WHERE kid = $1
        ), live AS (
            SELECT s.session_id, s.device_digest, s.sid = native_sso.own_sid(s.session_id)
                    AND s.created_at <= k.until AND s.last_used_at >= k.since
                    AND coalesce(c.id_token_algorithm, $3::text) = $3::text AS has_id_token
            FROM native_sso.session_state s CROSS JOIN k LEFT JOIN native_sso.client c ON c.client_id = s.source_client_id
            WHERE s.ended_at IS NULL AND s.expires_at > now()
        ), family AS (
            SELECT g.rotated_at, coalesce(c.access_token_algorithm, $3::text) = $3::text AS is_signed
            FROM native_sso.sso_grant g JOIN live USING (session_id) CROSS JOIN k
                JOIN native_sso.client c ON c.client_id = g.client_id
            WHERE g.revoked_at IS NULL AND g.expires_at > now() AND (g.rotated_at BETWEEN k.since AND k.until OR g.rotated_at >= g.expires_at)
        )
        SELECT CASE WHEN $2::text = 'refresh-token' THEN (SELECT count(*) FROM family) ELSE 0 END,
            CASE WHEN $2::text = 'access-token' THEN (SELECT count(*) FROM family
                WHERE is_signed AND rotated_at > now() - make_interval(secs => $4::bigint)) ELSE 0 END,
            CASE WHEN $2::text = 'access-token' THEN (SELECT count(*) FROM live WHERE has_id_token) ELSE 0 END,
            CASE WHEN $2::text = 'device' THEN (SELECT count(DISTINCT device_digest) FROM live) ELSE 0 END
        FROM k
        """)

    /// $1 kid, $2 use, $3 algorithm.
    static let families = Statement(
        """
        SELECT g.grant_id
        FROM (
            SELECT activated_at - interval '10 minutes' AS since, coalesce(retired_at, now()) + interval '1 minute' AS until
            FROM native_sso.signing_key WHERE kid = $1
        ) AS k CROSS JOIN native_sso.session_state s JOIN native_sso.sso_grant g USING (session_id)
            LEFT JOIN native_sso.client c ON c.client_id = s.source_client_id
        WHERE s.ended_at IS NULL AND s.expires_at > now() AND g.revoked_at IS NULL AND g.expires_at > now()
            AND CASE $2::text WHEN 'refresh-token' THEN (g.rotated_at BETWEEN k.since AND k.until OR g.rotated_at >= g.expires_at)
                WHEN 'access-token' THEN s.sid = native_sso.own_sid(s.session_id) AND s.created_at <= k.until
                    AND s.last_used_at >= k.since AND coalesce(c.id_token_algorithm, $3::text) = $3::text
                ELSE false END
        ORDER BY g.grant_id
        """)
}
