public import NativeSSO
public import PostgresClient

/// Logouts in PostgreSQL: a mark that keeps later comers out, then the sessions in short transactions, last the token.
///
/// A user may have a hundred thousand sessions. In one transaction their rows would be locked for seconds, and every
/// exchange and refresh of that user would wait, with whatever else is in its batch.
public struct PostgresLogoutRegistry: LogoutRegistry {
    private let database: any StatementExecutor
    private let turnstile: Turnstile
    private let batch: Int64

    /// - Parameters:
    ///   - atOnce: How many logouts are carried out at one time, so that a flood of them leaves connections to others.
    ///   - waiting: How many more may wait; whoever comes then is told to come again.
    ///   - batch: Sessions ended in one transaction. Few: everybody's commit waits until its log is on the disk.
    public init(database: any StatementExecutor, atOnce: Int = 2, waiting: Int = 64, batch: Int64 = 100) {
        self.database = database
        turnstile = Turnstile(width: atOnce, queue: waiting)
        self.batch = batch
    }

    public func end(_ logout: LogoutRecord) async throws(PortError) -> Int64? {
        guard await turnstile.enter() else {
            throw .outage(Outage(.database, "too many logouts at once"))
        }
        defer { turnstile.leave() }
        guard let begun = try await begin(logout) else { return nil }
        var ended: Int64 = 0
        if let session = logout.subject.session {
            ended += try await end([.text(session.string), .null], of: logout, until: begun, atMost: 1)
        }
        if let user = logout.subject.user {
            // First all that nobody has; then, one by one, those that somebody had.
            for limit in [batch, 1] {
                ended += try await end([.null, .text(user.string)], of: logout, until: begun, atMost: limit)
            }
        }
        return try await finish(logout, ended) ? ended : nil
    }

    private func begin(_ logout: LogoutRecord) async throws(PortError) -> PostgresValue? {
        let parameters =
            [.bytes(logout.digest), .text(logout.issuer.string)] + logout.subject.names
            + [
                try .instant(logout.issuedAt), .uuid(logout.proposedSessionRowID),
                .bool(logout.subject.isOnlyNameless),
            ]
        let begun = try await one(LogoutStatements.begin, parameters) { row in try row.optionalTimestamp(0) }
        return begun.map { .timestamp($0.microseconds) }
    }

    private func end(
        _ names: [PostgresValue], of logout: LogoutRecord, until begun: PostgresValue, atMost limit: Int64
    ) async throws(PortError) -> Int64 {
        var ended: Int64 = 0
        var after: PostgresValue = .null
        repeat {
            let parameters =
                [.uuid(logout.requestID), .text(logout.issuer.string)] + names
                + [begun, after, .int64(limit), .bool(logout.subject.isOnlyNameless), try .instant(logout.issuedAt)]
            let (count, last) = try await one(LogoutStatements.end, parameters) { row in
                (try row.int64(0), try row.optionalUUID(1))
            }
            ended += count
            after = last.map { .uuid($0) } ?? .null
        } while after != .null
        return ended
    }

    private func finish(_ logout: LogoutRecord, _ ended: Int64) async throws(PortError) -> Bool {
        try await one(
            LogoutStatements.finish,
            [
                .uuid(logout.requestID), .bytes(logout.digest), try .instant(logout.rememberedUntil),
                .text(logout.issuer.string), .bool(logout.subject.session == nil), .int64(ended),
                .uuid(logout.proposedSessionRowID),
            ]
        ) { row in try row.bool(0) }
    }

    /// The answer of a statement that has one row.
    private func one<Value: Sendable>(
        _ statement: Statement, _ parameters: [PostgresValue], _ decode: (Row) throws -> Value
    ) async throws(PortError) -> Value {
        let rows = try await PortError.database { () async throws(PostgresError) in
            try await database.query(statement, parameters)
        }
        guard rows.count == 1 else { throw .broken("\(rows.count) rows from a statement of a logout") }
        do {
            return try decode(rows[0])
        } catch {
            throw .broken("a row of a logout maps to nothing: \(error)")
        }
    }
}
