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
        let begun = try await database.one(LogoutStatements.begin, parameters, of: "a logout") { row in
            try row.optionalTimestamp(0)
        }
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
            let (count, last) = try await database.one(LogoutStatements.end, parameters, of: "a logout") { row in
                (try row.int64(0), try row.optionalUUID(1))
            }
            ended += count
            after = last.map { .uuid($0) } ?? .null
        } while after != .null
        return ended
    }

    private func finish(_ logout: LogoutRecord, _ ended: Int64) async throws(PortError) -> Bool {
        try await database.one(
            LogoutStatements.finish,
            [
                .uuid(logout.requestID), .bytes(logout.digest), try .instant(logout.rememberedUntil),
                .text(logout.issuer.string), .bool(logout.subject.session == nil), .int64(ended),
                .uuid(logout.proposedSessionRowID),
            ], of: "a logout"
        ) { row in try row.bool(0) }
    }
}

enum LogoutStatements {
    /// $1 digest, $2 issuer, $3 sid or NULL, $4 subject or NULL, $5 issued at, $6 row of the mark, $7 only nameless ones.
    static let begin = Statement("SELECT native_sso.begin_logout($1, $2, $3, $4, $5, $6, $7)")
    /// $1 request, $2 issuer, $3 sid or NULL, $4 subject or NULL, $5 came in until, $6 after which row, $7 how many, $8 only
    /// nameless ones, $9 issued at.
    static let end = Statement("SELECT ended, after FROM native_sso.end_logged_out($1, $2, $3, $4, $5, $6, $7, $8, $9)")
    /// $1 request, $2 digest, $3 when the token is refused for its age, $4 issuer, $5 of all sessions of a user, $6 how
    /// many were ended, $7 row of the mark.
    static let finish = Statement("SELECT native_sso.finish_logout($1, $2, $3, $4, $5, $6, $7)")

    static let all = [begin, end, finish]
}

extension LogoutSubject {
    /// sid, subject.
    var names: [PostgresValue] { [.optionalText(session?.string), .optionalText(user?.string)] }
}
