public import NativeSSO
public import PostgresClient

/// An event of the audit, with what the registry knows today of the login and the grant that it names.
public struct AuditRecord: Sendable, Hashable {
    public let occurredAt: PostgresTimestamp
    /// As it was recorded: one of ``AuditKind``, unless a newer version wrote it.
    public let kind: String
    /// The X-Request-Id of the answer, or the id of an operator's act.
    public let requestID: UniqueID?
    public let client: ClientID?
    /// The row of the session.
    public let session: UniqueID?
    public let grant: UniqueID?
    public let reason: String?
    /// Who, where a person acted.
    public let actor: String?
    /// A JSON object. Holds no secret.
    public let details: String?
    /// As the app's id_token names the session; `nil` where the row is gone.
    public let issuer: Issuer?
    public let sessionID: SessionID?
    /// The app whose login it is.
    public let sourceClient: ClientID?
    /// The sharing group that ``client`` is in today, at the identity provider of the session.
    public let group: GroupID?
    public let position: Position

    /// Where in the audit it stands: for the next page of a listing. Rows of the audit stay where they are.
    public struct Position: Sendable, Hashable {
        public let microseconds: Int64
        /// Of the partition, and in it.
        public let partition: Int64
        public let row: String

        public init(microseconds: Int64, partition: Int64, row: String) {
            self.microseconds = microseconds
            self.partition = partition
            self.row = row
        }
    }
}

/// Which events are meant: all that fit everything that is given.
public struct AuditSelection: Sendable, Hashable {
    /// From the first to before the second.
    public var from: PostgresTimestamp?
    public var until: PostgresTimestamp?
    public var kind: AuditKind?
    public var client: ClientID?
    /// The rows of sessions.
    public var sessions: [UniqueID]?

    public init(
        from: PostgresTimestamp? = nil, until: PostgresTimestamp? = nil, kind: AuditKind? = nil,
        client: ClientID? = nil, sessions: [UniqueID]? = nil
    ) {
        self.from = from
        self.until = until
        self.kind = kind
        self.client = client
        self.sessions = sessions
    }
}

extension Administration {
    /// All that was recorded under one request id, at most `limit` events, in the order of their times, but the sessions
    /// that it ended last: there may be a hundred thousand.
    public func audit(
        ofRequest requestID: UniqueID, limit: Int64
    ) async throws(AdministrationError) -> [AuditRecord] {
        try await rows(AuditListStatements.byRequest, [.uuid(requestID), .int64(limit)], AuditListStatements.record)
    }

    /// The newest first, at most `limit`.
    /// - Parameter position: Only what stands before it: where a listing goes on.
    public func audit(
        _ selection: AuditSelection, limit: Int64, before position: AuditRecord.Position? = nil
    ) async throws(AdministrationError) -> [AuditRecord] {
        try await rows(
            AuditListStatements.list,
            [
                selection.from.map { .timestamp($0.microseconds) } ?? .null,
                selection.until.map { .timestamp($0.microseconds) } ?? .null,
                .optionalText(selection.kind?.rawValue), .optionalText(selection.client?.string),
                selection.sessions.map { .uuidArray($0.map(\.octets)) } ?? .null, .int64(limit),
                position.map { .timestamp($0.microseconds) } ?? .null, .optionalInt64(position?.partition),
                .optionalText(position?.row),
            ], AuditListStatements.record)
    }
}

enum AuditListStatements {
    static let all = [byRequest, list]

    /// $1 request, $2 limit.
    static let byRequest = Statement(
        """
        SELECT a.*, a.place::text FROM native_sso.audit_line a WHERE a.request_id = $1
        ORDER BY a.kind = 'session_ended', a.occurred_at, a.partition, a.place LIMIT $2
        """)

    /// $1 from, $2 until, $3 kind, $4 client, $5 sessions, $6 limit, $7 to $9 before which row.
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
        ORDER BY a.occurred_at DESC, a.partition DESC, a.place DESC LIMIT $6
        """)

    static func record(_ row: Row) throws -> AuditRecord {
        let occurredAt = try row.timestamp(0)
        func id(_ column: Int) throws -> UniqueID? { try row.isNull(column) ? nil : try row.uniqueID(column) }
        return AuditRecord(
            occurredAt: occurredAt, kind: try row.text(1), requestID: try id(2),
            client: try row.optionalText(3).map { try row.identifier($0, "client_id") }, session: try id(4),
            grant: try id(5), reason: try row.optionalText(6), actor: try row.optionalText(7),
            details: try row.optionalText(8), issuer: try row.optionalText(9).map { try row.identifier($0, "issuer") },
            sessionID: try row.optionalText(10).map { try row.identifier($0, "sid") },
            sourceClient: try row.optionalText(11).map { try row.identifier($0, "source_client_id") },
            group: try row.optionalText(12).map { try row.identifier($0, "group_id") },
            position: AuditRecord.Position(
                microseconds: occurredAt.microseconds, partition: try row.int64(13), row: try row.text(15)))
    }
}
