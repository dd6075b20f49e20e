package import NativeSSO
package import PostgresClient
import StrictCoding

/// A link of the chain of seals over the audit; see the table `audit_seal`.
package struct AuditSeal: Sendable, Hashable {
    package let number: Int64
    package let sealedAt: UnixTime
    /// The events of its range.
    package let events: Int64
    /// SHA-256 over everything up to this seal.
    package let chain: [UInt8]
    /// By the device key over ``number`` and ``chain``. An attacker who can write to the database cannot compute it.
    package let tag: [UInt8]?

    func expectedTag(_ authenticator: any RecordAuthenticator) async throws(PortError) -> [UInt8] {
        try await authenticator.tag(.auditSeal, [Array(String(number).utf8), chain])
    }

    static func row(_ row: Row) throws -> AuditSeal {
        AuditSeal(
            number: try row.int64(0), sealedAt: try row.instant(1), events: try row.int64(2), chain: try row.bytes(3),
            tag: try row.optionalBytes(4))
    }
}

/// Seals what was committed to the audit, and tags the seals.
///
/// Several brokers take turns. Each remembers the last seal that it saw: if that one is gone or has changed, the database
/// was restored to an earlier moment, or its owner changed the audit.
package actor AuditSealer {
    package struct Outcome: Sendable {
        /// The seals that this call tagged.
        package var sealed: [AuditSeal] = []
        /// The last seal that was seen before, if the database no longer has it as it was.
        package var lost: AuditSeal?
    }

    private let database: any StatementExecutor
    private let authenticator: any RecordAuthenticator
    private let clock: any WallClock
    private let spacing: Seconds
    private var last: AuditSeal?

    /// The database tags no older seal. Less, for clocks that differ.
    private static let tagged: Seconds = 3000

    /// - Parameter spacing: Least time between the seals of all brokers together.
    package init(
        database: any StatementExecutor, authenticator: any RecordAuthenticator, clock: any WallClock,
        spacing: Seconds = 50
    ) {
        self.database = database
        self.authenticator = authenticator
        self.clock = clock
        self.spacing = spacing
    }

    package func run() async throws(PortError) -> Outcome {
        _ = try await database.all(SealStatements.seal, [.int64(spacing.count)], of: "audit_seal") { _ in }
        var outcome = Outcome()
        while true {
            let seals = try await database.all(
                SealStatements.since, [.optionalInt64(last?.number)], of: "audit_seal", AuditSeal.row)
            if let last, seals.first?.number != last.number || seals.first?.chain != last.chain {
                outcome.lost = last
                self.last = nil
                continue
            }
            let new = last == nil ? seals[...] : seals.dropFirst()
            for seal in new {
                if seal.tag == nil, clock.now.since(seal.sealedAt) < Self.tagged {
                    outcome.sealed.append(try await tag(seal))
                }
                last = seal
            }
            if new.isEmpty { return outcome }
        }
    }

    private func tag(_ seal: AuditSeal) async throws(PortError) -> AuditSeal {
        let tag = try await seal.expectedTag(authenticator)
        _ = try await database.all(SealStatements.tag, [.int64(seal.number), .bytes(tag)], of: "audit_seal") { _ in }
        return AuditSeal(
            number: seal.number, sealedAt: seal.sealedAt, events: seal.events, chain: seal.chain, tag: tag)
    }
}

enum SealStatements {
    /// $1 least number of seconds since the last seal.
    static let seal = Statement("SELECT native_sso.seal_audit($1)")

    /// $1 a seal, which comes first; NULL: the newest hundred.
    static let since = Statement(
        """
        SELECT number, sealed_at, events, chain, tag FROM native_sso.audit_seal
        WHERE number >= coalesce($1, (SELECT max(number) FROM native_sso.audit_seal) - 99) ORDER BY number LIMIT 100
        """)

    /// $1 number, $2 tag.
    static let tag = Statement("SELECT native_sso.tag_audit_seal($1, $2)")

    /// $1 instant. The columns of ``check``, for the seal before the first one that is checked.
    static let lastBefore = Statement(
        """
        SELECT number, sealed_at, events, chain, tag, to_char(month, 'YYYY-MM'), from_transaction, until_transaction,
            is_removal, true, events, true, false, to_char(sealed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), false
        FROM native_sso.audit_seal WHERE sealed_at < $1 ORDER BY number DESC LIMIT 1
        """)

    /// $1 after this seal, $2 limit. Computes chain and digests again, with functions of PostgreSQL alone: those of the
    /// schema belong to an owner who may have changed them.
    static let check = Statement(
        """
        SELECT s.number, s.sealed_at, s.events, s.chain, s.tag, to_char(s.month, 'YYYY-MM'), s.from_transaction,
            s.until_transaction, s.is_removal,
            s.chain = sha256(coalesce(p.chain, '') || convert_to(concat_ws('|', s.number,
                (extract(epoch FROM s.sealed_at) * 1000000)::bigint, to_char(s.month, 'YYYY-MM'), s.from_transaction,
                s.until_transaction, s.events, encode(s.digest, 'hex'), s.is_removal), 'UTF8')),
            coalesce(found.events, 0), s.is_removal OR found.digest = s.digest,
            EXISTS (SELECT FROM native_sso.audit_seal r WHERE r.month = s.month AND r.is_removal AND r.number > s.number),
            to_char(s.sealed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
            s.is_removal AND s.sealed_at < (s.month + interval '1 month 30 days') AT TIME ZONE 'UTC'
        FROM native_sso.audit_seal s LEFT JOIN native_sso.audit_seal p ON p.number = s.number - 1
        LEFT JOIN LATERAL (
            SELECT count(*) AS events, sha256(coalesce(string_agg(e.digest, ''::bytea ORDER BY e.digest), '')) AS digest
            FROM (
                SELECT sha256(convert_to(jsonb_build_array(
                    (extract(epoch FROM a.occurred_at) * 1000000)::bigint, a.kind, a.request_id, a.client_id,
                    a.session_id, a.grant_id, a.reason, a.actor, a.details, a.trace_id, a.recorded_in)::text, 'UTF8')) AS digest
                FROM native_sso.audit_event a
                WHERE a.recorded_in >= s.from_transaction AND a.recorded_in < s.until_transaction
                    AND a.occurred_at >= s.month::timestamp AT TIME ZONE 'UTC'
                    AND a.occurred_at < (s.month + interval '1 month') AT TIME ZONE 'UTC') e
        ) found ON NOT s.is_removal
        WHERE s.number > $1 ORDER BY s.number LIMIT $2
        """)

    /// $1 and $2: the first transaction that the checked seals cover, and the first after them. By month: events, those that
    /// the seals must cover, and those of transactions that this cluster has not begun.
    static let count = Statement(
        """
        SELECT to_char(a.occurred_at AT TIME ZONE 'UTC', 'YYYY-MM') AS month,
            count(*) FILTER (WHERE a.recorded_in < $2), count(*) FILTER (WHERE a.recorded_in >= $2),
            count(*) FILTER (WHERE a.recorded_in >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint)
        FROM native_sso.audit_event a WHERE a.recorded_in >= $1 GROUP BY month ORDER BY month
        """)
}
