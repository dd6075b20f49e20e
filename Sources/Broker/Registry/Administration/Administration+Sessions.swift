package import NativeSSO
import PostgresClient

/// A session as shown to an operator. Contains no credentials.
package struct SessionRecord: Sendable, Hashable {
    package let id: UniqueID
    package let issuer: Issuer
    /// SHA-256 of the `sid` in the apps' id_tokens, in lower-case hexadecimal.
    package let sidDigest: String
    /// `nil` for a session that ended before the broker first saw it.
    package let subject: Subject?
    package let profile: Profile?
    package let sourceClient: ClientID?
    package let createdAt: UnixTime
    package let expiresAt: UnixTime
    package let lastUsedAt: UnixTime
    package let endedAt: UnixTime?
    package let endReason: String?
    /// Grants that are neither revoked nor expired; 0 in an ended session.
    package let liveGrants: Int64
    /// The device on which the user logged in, if known.
    package let device: DeviceDigest?
}

package enum SessionSelection: Sendable {
    /// By the `sid` in the apps' id_tokens or in the IdP's logout tokens, or by the broker's own name of the session.
    case session(Issuer, SessionID)
    case subject(Issuer, Subject)
    case device(DeviceDigest)
    /// By source client.
    case client(ClientID)
    /// By identity provider, and by the time in which the session began or one of its grants was issued: from the first
    /// instant on, before the second. `nil`: any.
    case issued(by: Issuer?, between: (from: UnixTime, until: UnixTime)?)
    case all

    /// Those of ``SessionStatements/list`` from $4 on.
    fileprivate func parameters(_ beganUntil: UnixTime?) -> [PostgresValue] {
        var named: [PostgresValue] = [.null, .null, .null]
        var (provider, subject, device, client): (Issuer?, Subject?, DeviceDigest?, ClientID?)
        var interval: (from: UnixTime, until: UnixTime)?
        switch self {
        case .session(let issuer, let sid): named = SessionStatements.names(issuer, sid)
        case .subject(let issuer, let user): (provider, subject) = (issuer, user)
        case .device(let digest): device = digest
        case .client(let id): client = id
        case .issued(let issuer, let between): (provider, interval) = (issuer, between)
        case .all: break
        }
        return named + [
            .optionalText(provider?.string), .optionalText(subject?.string), .optionalBytes(device?.octets),
            .optionalText(client?.string), .clamped(beganUntil), .clamped(interval?.from), .clamped(interval?.until),
        ]
    }
}

/// The sessions, users and grants that an end of sessions affects.
package struct SessionImpact: Sendable, Hashable {
    /// Live ones.
    package let sessions: Int64
    /// Users of these sessions. A session of an unknown user counts as one.
    package let users: Int64
    /// Live grants in these sessions: apps that hold tokens.
    package let grants: Int64
}

extension Administration {
    /// The newest sessions first, at most `limit`.
    /// - Parameters:
    ///   - instant: Leave out sessions that began later; `nil`: none.
    ///   - row: Return only sessions older than this one, to continue a listing.
    package func sessions(
        _ selection: SessionSelection, liveOnly: Bool, beganUntil instant: UnixTime? = nil, limit: Int64,
        before row: UniqueID? = nil
    ) async throws(AdministrationError) -> [SessionRecord] {
        try await rows(
            SessionStatements.list,
            [.bool(liveOnly), .int64(limit), row.map { .uuid($0) } ?? .null] + selection.parameters(instant),
            SessionStatements.record)
    }

    /// What an end of these sessions would do.
    package func impact(
        ofEnding selection: SessionSelection, beganUntil instant: UnixTime? = nil
    ) async throws(AdministrationError) -> SessionImpact {
        let found = try await rows(SessionStatements.impact, selection.parameters(instant)) { row in
            SessionImpact(sessions: try row.int64(0), users: try row.int64(1), grants: try row.int64(2))
        }
        return found.first ?? SessionImpact(sessions: 0, users: 0, grants: 0)
    }

    /// Ends sessions. From the commit on, the broker refuses all their grants.
    /// - Parameters:
    ///   - reason: Stored in the session row and the audit, such as `operator`.
    ///   - sameLoginMayReturn: Whether a later id_token of the same login may create a new session. Otherwise the
    ///     user must log in again at the IdP.
    /// - Returns: The sessions that this call ended.
    package func end(
        _ sessions: [UniqueID], reason: String, sameLoginMayReturn: Bool = false, _ act: AdministrativeAct
    ) async throws(AdministrationError) -> [UniqueID] {
        try await lockedLast(sessions) { (sessions, onlyFree) async throws(AdministrationError) in
            try await rows(
                SessionStatements.end,
                [
                    .uuidArray(sessions.map(\.octets)), .text(reason), .text(act.actor),
                    .optionalText(act.reason), .uuid(act.requestID), .bool(onlyFree),
                    .bool(sameLoginMayReturn),
                ]
            ) { try $0.uniqueID(0) }
        }
    }

    /// Changes rows of which others may hold locks. Waiting for a lock while holding others can deadlock, so locked
    /// rows come last, one by one.
    /// - Parameter change: Changes these rows, or only the unlocked ones of them, and returns the changed ones.
    func lockedLast(
        _ rows: [UniqueID],
        _ change: (_ rows: [UniqueID], _ onlyFree: Bool) async throws(AdministrationError) -> [UniqueID]
    ) async throws(AdministrationError) -> [UniqueID] {
        var changed = rows.count > 1 ? try await change(rows, true) : []
        for row in Set(rows).subtracting(changed) { changed += try await change([row], false) }
        return changed
    }
}

enum SessionStatements {
    /// For `native_sso.is_named`: issuer, SHA-256 of the `sid`, and the row if the name is the broker's own.
    static func names(_ issuer: Issuer, _ sid: SessionID) -> [PostgresValue] {
        [.text(issuer.string), .bytes(sid.digest), UniqueID(sid.string).map { .uuid($0) } ?? .null]
    }

    /// $1 only live ones, $2 limit, $3 before which row. The others are filters; NULL matches all: $4 to $11 as of
    /// `native_sso.is_selected`, $12 and $13 the time in which something was issued.
    static let list = Statement(
        """
        SELECT s.session_id, s.issuer, encode(s.sid, 'hex'), s.subject, s.profile, s.source_client_id, s.created_at, s.expires_at,
            s.last_used_at, s.ended_at, s.end_reason,
            (SELECT count(*) FROM native_sso.sso_grant g
             WHERE s.ended_at IS NULL AND g.session_id = s.session_id AND g.revoked_at IS NULL AND g.expires_at > now()),
            s.device_digest
        FROM native_sso.session_state s
        WHERE s.session_id < coalesce($3, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid)
            AND (NOT $1 OR s.ended_at IS NULL AND s.expires_at > now())
            AND native_sso.is_selected(s, $4, $5, $6, $7, $8, $9, $10, $11)
            AND ($12::timestamptz IS NULL OR s.created_at >= $12 AND s.created_at < $13 OR EXISTS (
                SELECT FROM native_sso.sso_grant g
                WHERE g.session_id = s.session_id AND g.created_at >= $12 AND g.created_at < $13))
        ORDER BY s.session_id DESC LIMIT $2
        """)

    /// The filters of ``list`` without its first three parameters.
    static let impact = Statement(
        """
        SELECT count(*),
            count(DISTINCT (s.idp_issuer, s.subject)) FILTER (WHERE s.subject IS NOT NULL)
                + count(*) FILTER (WHERE s.subject IS NULL),
            coalesce(sum((SELECT count(*) FROM native_sso.sso_grant g
                WHERE g.session_id = s.session_id AND g.revoked_at IS NULL AND g.expires_at > now())), 0)::bigint
        FROM native_sso.session_state s
        WHERE s.ended_at IS NULL AND s.expires_at > now()
            AND native_sso.is_selected(s, $1, $2, $3, $4, $5, $6, $7, $8)
            AND ($9::timestamptz IS NULL OR s.created_at >= $9 AND s.created_at < $10 OR EXISTS (
                SELECT FROM native_sso.sso_grant g
                WHERE g.session_id = s.session_id AND g.created_at >= $9 AND g.created_at < $10))
        """)

    /// $1 sessions, $2 reason, $3 who, $4 why, $5 act, $6 skip locked sessions, $7 the same login may return.
    static let end = Statement(
        """
        SELECT * FROM native_sso.end_sessions(
            $1, $2, $3, jsonb_strip_nulls(jsonb_build_object('why', $4::text)), $5, $6, $7)
        """)

    /// $1 issuer, $2 SHA-256 of the sid, $3 subject, $4 client, $5 auth_time, $6 acr, $7 amr, $8 lifetime in seconds,
    /// $9 issuer and $10 SHA-256 of the sid of the IdP's logout, $11 who, $12 why, $13 act.
    static let register = Statement(
        """
        SELECT outcome, session_id FROM native_sso.register_session(
            $1, $2, $3, $4, $5, $6, $7, make_interval(secs => $8::bigint), $9, $10, $11, $12, $13)
        """)

    static func record(_ row: Row) throws -> SessionRecord {
        SessionRecord(
            id: try row.uniqueID(0),
            issuer: try row.identifier(try row.text(1), "issuer"),
            sidDigest: try row.text(2),
            subject: try row.optionalText(3).map { try row.identifier($0, "subject") },
            profile: try row.optionalText(4).map { try Profile($0, "profile") },
            sourceClient: try row.optionalText(5).map { try row.identifier($0, "source_client_id") },
            createdAt: try row.instant(6), expiresAt: try row.instant(7), lastUsedAt: try row.instant(8),
            endedAt: try row.optionalInstant(9), endReason: try row.optionalText(10),
            liveGrants: try row.int64(11),
            device: try row.optionalBytes(12).map { octets in
                guard let device = DeviceDigest(octets: octets) else { throw CorruptRow(column: "device_digest") }
                return device
            })
    }
}
