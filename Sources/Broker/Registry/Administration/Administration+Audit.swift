package import NativeSSO
package import PostgresClient

/// An audit event, with the current data of the session and grant that it names.
package struct AuditRecord: Sendable, Hashable {
    package let occurredAt: PostgresTimestamp
    /// As recorded: an ``AuditKind``, unless a newer version wrote it.
    package let kind: String
    /// The X-Request-Id of the response, or the id of an operator's act.
    package let requestID: UniqueID?
    package let client: ClientID?
    /// The session's row id.
    package let session: UniqueID?
    package let grant: UniqueID?
    package let reason: String?
    /// The person who acted; `nil` for a request.
    package let actor: String?
    /// A JSON object without secrets.
    package let details: String?
    /// The session's issuer; `nil` if its row was deleted.
    package let issuer: Issuer?
    /// SHA-256 of the session's `sid`, in lower-case hexadecimal; `nil` if its row was deleted.
    package let sidDigest: String?
    /// The source client of the session.
    package let sourceClient: ClientID?
    /// The current sharing group of ``client`` at the session's IdP.
    package let group: GroupID?
    /// The trace that the request belongs to; `nil`: none is known.
    package let trace: UniqueID?
    package let position: Position
    /// The transaction that recorded it.
    package let transaction: Int64

    /// The event's position in the audit, for the next page of a listing. Audit rows never move.
    package struct Position: Sendable, Hashable {
        package let microseconds: Int64
        /// The id of the partition; ``row`` is the position in it.
        package let partition: Int64
        package let row: String

        package init(microseconds: Int64, partition: Int64, row: String) {
            (self.microseconds, self.partition, self.row) = (microseconds, partition, row)
        }
    }
}

/// A filter on audit events; an event must match every value given.
package struct AuditSelection: Sendable, Hashable {
    /// The start is inclusive, the end exclusive.
    package var from: PostgresTimestamp?
    package var until: PostgresTimestamp?
    package var kind: AuditKind?
    package var client: ClientID?
    /// Row ids of sessions.
    package var sessions: [UniqueID]?
    /// A part of any field, in lower or upper case.
    package var text: String?
    /// Transactions that recorded events, from the first one up to, and without, the second.
    package var transactions: Range<Int64>?
}

extension AuditSelection {
    /// Every event.
    package static var all: AuditSelection { AuditSelection() }
}

extension Administration {
    /// At most `limit` events of one request, by time. The sessions that it ended come last, because there may be a
    /// hundred thousand.
    package func audit(ofRequest requestID: UniqueID, limit: Int64) async throws(AdministrationError) -> [AuditRecord] {
        try await rows(AuditListStatements.byRequest, [.uuid(requestID), .int64(limit)], AuditListStatements.record)
    }

    /// At most `limit` events, newest first.
    /// - Parameters:
    ///   - limit: `nil`: all. Then bound them by an interval, because all are in memory at once.
    ///   - position: Return only events before this one, to continue a listing.
    package func audit(
        _ selection: AuditSelection, limit: Int64?, before position: AuditRecord.Position? = nil
    ) async throws(AdministrationError) -> [AuditRecord] {
        try await rows(
            AuditListStatements.list,
            [
                selection.from.map { .timestamp($0.microseconds) } ?? .null,
                selection.until.map { .timestamp($0.microseconds) } ?? .null,
                .optionalText(selection.kind?.rawValue), .optionalText(selection.client?.string),
                selection.sessions.map { .uuidArray($0.map(\.octets)) } ?? .null,
                .optionalInt64(limit), position.map { .timestamp($0.microseconds) } ?? .null,
                .optionalInt64(position?.partition), .optionalText(position?.row),
                .optionalText(selection.text), .optionalInt64(selection.transactions?.lowerBound),
                .optionalInt64(selection.transactions?.upperBound),
            ], AuditListStatements.record)
    }

    /// The events of one selection, by time. Bound them by an interval: all are in memory at once.
    package func auditInOrder(_ selection: AuditSelection) async throws(AdministrationError) -> [AuditRecord] {
        try await audit(selection, limit: nil).reversed()
    }

    /// The first transaction that may still record something. Everything that earlier ones recorded can be seen.
    package func firstOpenTransaction() async throws(AdministrationError) -> Int64 {
        try await rows(AuditListStatements.horizon) { try $0.int64(0) }.first ?? 0
    }
}

enum AuditListStatements {
    /// $1 request, $2 limit.
    static let byRequest = Statement(
        """
        SELECT a.*, a.place::text FROM native_sso.audit_line a WHERE a.request_id = $1
        ORDER BY a.kind = 'session_ended', a.occurred_at, a.partition, a.place LIMIT $2
        """)

    /// $1 from, $2 until, $3 kind, $4 client, $5 sessions, $6 limit, $7 to $9 before which row, $10 text, $11 and $12
    /// transactions.
    static let list = Statement(
        """
        SELECT a.*, a.place::text FROM native_sso.audit_line a
        WHERE a.occurred_at >= coalesce($1, '-infinity'::timestamptz)
            AND a.occurred_at < coalesce($2, 'infinity'::timestamptz)
            AND a.occurred_at <= coalesce($7, 'infinity'::timestamptz)
            AND ($3::text IS NULL OR a.kind = $3) AND ($4::text IS NULL OR a.client_id = $4)
            AND ($5::uuid[] IS NULL OR a.session_id = ANY ($5))
            AND ($7::timestamptz IS NULL
                OR (a.occurred_at, a.partition, a.place) < ($7::timestamptz, $8::bigint, $9::text::tid))
            AND ($11::bigint IS NULL OR a.recorded_in >= $11) AND ($12::bigint IS NULL OR a.recorded_in < $12)
            AND ($10::text IS NULL OR strpos(lower(concat_ws(' ', a.kind, a.request_id, a.client_id, a.session_id, a.grant_id,
                a.reason, a.actor, a.details, a.trace_id, replace(a.trace_id::text, '-', ''), a.issuer, a.sid,
                a.source_client_id)), lower($10)) > 0)
        ORDER BY a.occurred_at DESC, a.partition DESC, a.place DESC LIMIT $6
        """)

    static let horizon = Statement("SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint")

    static func record(_ row: Row) throws -> AuditRecord {
        let occurredAt = try row.timestamp(0)
        func id(_ column: Int) throws -> UniqueID? { try row.isNull(column) ? nil : try row.uniqueID(column) }
        return AuditRecord(
            occurredAt: occurredAt, kind: try row.text(1), requestID: try id(2),
            client: try row.optionalText(3).map { try row.identifier($0, "client_id") }, session: try id(4),
            grant: try id(5), reason: try row.optionalText(6), actor: try row.optionalText(7),
            details: try row.optionalText(8), issuer: try row.optionalText(9).map { try row.identifier($0, "issuer") },
            sidDigest: try row.optionalText(10),
            sourceClient: try row.optionalText(11).map { try row.identifier($0, "source_client_id") },
            group: try row.optionalText(12).map { try row.identifier($0, "group_id") },
            trace: try id(15),
            position: AuditRecord.Position(
                microseconds: occurredAt.microseconds, partition: try row.int64(13), row: try row.text(17)),
            transaction: try row.int64(16))
    }
}
