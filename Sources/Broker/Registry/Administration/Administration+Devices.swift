package import NativeSSO
import PostgresClient
import StrictCoding

/// A device as shown to an operator.
package struct DeviceRecord: Sendable, Hashable {
    package let issuer: Issuer
    package let digest: DeviceDigest
    package let firstSeenAt: UnixTime
    package let blockedAt: UnixTime?
    /// Live sessions whose login was on this device.
    package let liveSessions: Int64
    /// The bound key of each client on this device.
    package let pins: [KeyPin]
}

package struct KeyPin: Sendable, Hashable {
    package let client: ClientID
    package let key: KeyThumbprint
}

extension Administration {
    package func device(_ digest: DeviceDigest, at issuer: Issuer) async throws(AdministrationError) -> DeviceRecord {
        let found = try await rows(DeviceStatements.select, [.text(issuer.string), .bytes(digest.octets)]) { row in
            DeviceRecord(
                issuer: issuer, digest: digest, firstSeenAt: try row.instant(0), blockedAt: try row.optionalInstant(1),
                liveSessions: try row.int64(2), pins: try pins(row))
        }
        guard let device = found.first else { throw .notFound("this device") }
        return device
    }

    /// Blocks a device. From the commit on, the broker refuses exchanges with its device value and refreshes of the
    /// grants from them.
    package func block(
        _ digest: DeviceDigest, at issuer: Issuer, _ act: AdministrativeAct
    ) async throws(AdministrationError) {
        try await set(DeviceStatements.block, .deviceBlocked, digest, issuer, act, orElse: "this device, unblocked,")
    }

    package func unblock(
        _ digest: DeviceDigest, at issuer: Issuer, _ act: AdministrativeAct
    ) async throws(AdministrationError) {
        try await set(DeviceStatements.unblock, .deviceUnblocked, digest, issuer, act, orElse: "this device, blocked,")
    }

    /// Removes key bindings. From the commit on, the next key that an app uses on the device becomes its bound key.
    /// Existing token families keep their keys.
    /// - Parameter client: The app; `nil`: all apps.
    package func unpin(
        _ digest: DeviceDigest, at issuer: Issuer, client: ClientID?, _ act: AdministrativeAct
    ) async throws(AdministrationError) {
        try await change(
            DeviceStatements.unpin,
            [.text(issuer.string), .bytes(digest.octets), .optionalText(client?.string)], as: .deviceUnpinned, act,
            details: [("issuer", issuer.string), ("device", Hexadecimal.encode(digest.octets))]
                + (client.map { [("client", $0.string)] } ?? []),
            orElse: .notFound("this device, pinned,"))
    }

    private func pins(_ row: Row) throws -> [KeyPin] {
        try zip(row.textArray(3), row.textArray(4)).map { client, key in
            KeyPin(client: try row.identifier(client, "pinned_keys"), key: try row.identifier(key, "pinned_keys"))
        }
    }

    private func set(
        _ statement: Statement, _ kind: AuditKind, _ digest: DeviceDigest, _ issuer: Issuer, _ act: AdministrativeAct,
        orElse missing: String
    ) async throws(AdministrationError) {
        try await change(
            statement, [.text(issuer.string), .bytes(digest.octets)], as: kind, act,
            details: [("issuer", issuer.string), ("device", Hexadecimal.encode(digest.octets))],
            orElse: .notFound(missing))
    }
}

enum DeviceStatements {
    // $1 issuer, $2 digest.
    static let select = Statement(
        """
        SELECT least(d.first_seen_at, s.first_seen_at), d.blocked_at, s.live,
            ARRAY(SELECT p.key FROM jsonb_each_text(d.pinned_keys) AS p ORDER BY p.key COLLATE "C"),
            ARRAY(SELECT p.value FROM jsonb_each_text(d.pinned_keys) AS p ORDER BY p.key COLLATE "C")
        FROM (
            SELECT min(s.created_at) AS first_seen_at, count(*) FILTER (WHERE s.ended_at IS NULL AND s.expires_at > now()) AS live
            FROM native_sso.session_state s WHERE s.issuer = $1 AND s.device_digest = $2) AS s
        LEFT JOIN native_sso.device d ON d.issuer = $1 AND d.device_digest = $2
        WHERE d.device_digest IS NOT NULL OR s.first_seen_at IS NOT NULL
        """)
    static let block = Statement(
        """
        INSERT INTO native_sso.device AS d (issuer, device_digest, first_seen_at, blocked_at)
        VALUES ($1, $2, date_trunc('second', now()), date_trunc('second', now()))
        ON CONFLICT (issuer, device_digest) DO UPDATE SET blocked_at = excluded.blocked_at WHERE d.blocked_at IS NULL
        RETURNING 1
        """)
    static let unblock = Statement(
        """
        UPDATE native_sso.device SET blocked_at = NULL
        WHERE issuer = $1 AND device_digest = $2 AND blocked_at IS NOT NULL RETURNING 1
        """)
    // $3 client; NULL: all.
    static let unpin = Statement(
        """
        UPDATE native_sso.device d SET pinned_keys = CASE WHEN c.id IS NOT NULL THEN nullif(d.pinned_keys - c.id, '{}') END
        FROM (VALUES ($3::text)) AS c (id)
        WHERE d.issuer = $1 AND d.device_digest = $2
            AND CASE WHEN c.id IS NULL THEN d.pinned_keys <> '{}' ELSE (d.pinned_keys ->> c.id) IS NOT NULL END
        RETURNING 1
        """)
}
