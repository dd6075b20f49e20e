package import PostgresClient

/// An event in the order in which transactions recorded the audit: where a copy has come to.
package struct AuditMark: Sendable, Hashable {
    package let transaction: Int64
    /// The order within a transaction. A physical standby has each row in the same place.
    package let position: AuditRecord.Position

    package init(transaction: Int64, position: AuditRecord.Position) {
        (self.transaction, self.position) = (transaction, position)
    }
}

extension AuditRecord {
    package var mark: AuditMark { AuditMark(transaction: transaction, position: position) }
}

/// Reads the audit in the order of transactions, up to the first one that has not ended. So an event that commits late
/// is not passed over.
package struct AuditCursor: Sendable {
    /// Everything that earlier transactions recorded was read.
    fileprivate var from: Int64
    /// The last event that was read. It must stay where it is.
    fileprivate var last: AuditMark?
    /// When the server that was read was started. Another one may have lost transactions, and have used their numbers anew.
    var server: Int64?
    /// Nothing older is due.
    fileprivate var since: PostgresTimestamp?
    /// How many transactions the next page may cover, so that a page needs few rows of a large audit.
    fileprivate var span: Int64 = 1 << 16

    /// - Parameter mark: `nil`: the whole audit.
    package init(after mark: AuditMark? = nil) {
        from = mark?.transaction ?? 0
        last = mark
    }

    fileprivate var until: Int64 { from + span }

    /// No event that is recorded after ``last`` is older. The database dates an event back by at most a day. The clocks
    /// of two servers may differ.
    private var oldestToCome: PostgresTimestamp? {
        last.map { PostgresTimestamp(microseconds: $0.position.microseconds - 2 * 86_400 * 1_000_000) }
    }

    /// - Parameter isFull: Whether more events may be due before ``until``.
    fileprivate mutating func advance(over records: [AuditRecord], isFull: Bool, horizon: Int64) {
        if let mark = records.last?.mark { last = mark }
        if isFull, let last {
            span = max(last.transaction - from, 1)
            from = last.transaction
        } else {
            from = min(until, horizon)
            span = min(span * 2, 1 << 40)
        }
    }

    /// - Returns: Whether the page is of another server than the last one. What comes after the last event is read again.
    fileprivate mutating func meets(_ server: Int64) -> Bool {
        defer { self.server = server }
        guard let before = self.server, before != server else { return false }
        from = last?.transaction ?? 0
        return true
    }

    fileprivate mutating func passRetention() -> AuditGap? {
        guard let last else { return nil }
        // Later events were read up to `from`, and retention removes none that is younger than a month.
        let gap = from > last.transaction ? nil : AuditGap(cause: .retention, after: last)
        (since, self.last) = (oldestToCome ?? since, nil)
        return gap
    }

    /// Numbers of transactions and places of rows may mean something else now.
    fileprivate mutating func beginAgain() -> AuditGap {
        let gap = AuditGap(cause: .databaseWentBack, after: last, again: oldestToCome ?? since)
        (from, since, last) = (0, gap.again, nil)
        return gap
    }
}

/// Events that a reader may lack, or may get again.
package struct AuditGap: Sendable, Hashable {
    package enum Cause: String, Sendable, CaseIterable {
        /// Retention removed the last event that was read, perhaps with later ones.
        case retention
        /// The last event that was read is not where it was: a restore, a failover that lost transactions, or a change
        /// by the owner of the tables.
        case databaseWentBack = "database_went_back"
    }

    package let cause: Cause
    package let after: AuditMark?
    /// Events from this time on come again; `nil`: none, or all if the database went back.
    package var again: PostgresTimestamp?
}

/// Some events in the order of their transactions.
package struct AuditPage: Sendable {
    package var records: [AuditRecord] = []
    /// Lies before the events of the next page.
    package var gap: AuditGap?
    /// Whether everything that may be read now was read.
    package let isLast: Bool
}

extension Administration {
    /// Reads the next events. One statement, so that all that it says is of one database at one moment.
    package func audit(
        _ cursor: inout AuditCursor, limit: Int64 = 1000
    ) async throws(AdministrationError) -> AuditPage {
        let mark = cursor.last
        let found = try await rows(
            AuditExportStatements.page,
            [
                .int64(cursor.from), .int64(cursor.until), .optionalInt64(mark?.transaction),
                .optionalInt64(mark?.position.partition), .optionalText(mark?.position.row),
                mark.map { .timestamp($0.position.microseconds) } ?? .null,
                cursor.since.map { .timestamp($0.microseconds) } ?? .null, .int64(limit),
            ], AuditExportStatements.row)
        guard let state = found.first else { return AuditPage(isLast: true) }
        if cursor.meets(state.server) { return AuditPage(isLast: false) }
        if state.isMissing || state.horizon < cursor.from {
            return AuditPage(gap: cursor.beginAgain(), isLast: false)
        }
        if state.isRemoved { return AuditPage(gap: cursor.passRetention(), isLast: false) }
        let records = found.compactMap(\.record)
        let isFull = records.count >= limit
        cursor.advance(over: records, isFull: isFull, horizon: state.horizon)
        return AuditPage(records: records, isLast: !isFull && cursor.from == state.horizon)
    }
}

enum AuditExportStatements {
    /// $1 first transaction, $2 the first after those of the page, $3 to $6 the last event that was read: transaction,
    /// partition, row and time; $7 oldest time, $8 limit. At least one row, with four columns of state: the first
    /// transaction that may still record something; whether retention removed the last event, whose month is then empty
    /// and over for 30 days; whether the last event is missing for another reason; and when the server was started.
    static let page = Statement(
        """
        SELECT a.*, a.place::text, s.horizon, NOT s.is_there AND s.is_over, NOT s.is_there AND NOT s.is_over,
            (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint
        FROM (
            SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS horizon,
                $3::bigint IS NULL OR EXISTS (
                    SELECT FROM native_sso.audit_line w
                    WHERE w.occurred_at = $6::timestamptz AND w.place = $5::text::tid AND w.partition = $4::bigint
                        AND w.recorded_in = $3::bigint) AS is_there,
                m.month + interval '1 month 30 days' <= now() AT TIME ZONE 'UTC' AND NOT EXISTS (
                    SELECT FROM native_sso.audit_line w
                    WHERE w.occurred_at >= m.month AT TIME ZONE 'UTC'
                        AND w.occurred_at < (m.month + interval '1 month') AT TIME ZONE 'UTC') AS is_over
            FROM date_trunc('month', coalesce($6::timestamptz, now()) AT TIME ZONE 'UTC') AS m (month)
        ) s LEFT JOIN LATERAL (
            SELECT * FROM native_sso.audit_line e
            WHERE e.recorded_in >= $1::bigint
                AND e.recorded_in < least($2::bigint, pg_snapshot_xmin(pg_current_snapshot())::text::bigint)
                AND ($3::bigint IS NULL
                    OR (e.recorded_in, e.partition, e.place) > ($3::bigint, $4::bigint, $5::text::tid))
                AND e.occurred_at >= coalesce($7::timestamptz, '-infinity')
            ORDER BY e.recorded_in, e.partition, e.place LIMIT $8::bigint
        ) a ON true
        ORDER BY a.recorded_in, a.partition, a.place
        """)

    typealias StatedRecord = (record: AuditRecord?, horizon: Int64, isRemoved: Bool, isMissing: Bool, server: Int64)

    static func row(_ row: Row) throws -> StatedRecord {
        (
            record: try row.isNull(0) ? nil : try AuditListStatements.record(row), horizon: try row.int64(18),
            isRemoved: try row.bool(19), isMissing: try row.bool(20),
            server: try row.int64(21)
        )
    }
}
