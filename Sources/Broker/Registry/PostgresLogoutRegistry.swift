package import NativeSSO
package import PostgresClient

/// Logouts in PostgreSQL: first a record that blocks new logins, then the sessions in short transactions, last the
/// token.
///
/// A user may have a hundred thousand sessions. A single transaction would lock their rows for seconds and delay
/// every exchange and refresh of that user, together with the rest of their batches.
package struct PostgresLogoutRegistry: LogoutRegistry {
    private let database: any StatementExecutor
    private let semaphore: Semaphore
    private let batch: Int64

    /// - Parameters:
    ///   - atOnce: Maximum concurrent logouts. The limit leaves connections to other calls.
    ///   - waiting: Maximum waiting logouts. Further ones get an outage and must retry.
    ///   - batch: Sessions per transaction. Small, because other commits wait until this transaction's log is on disk.
    package init(database: any StatementExecutor, atOnce: Int = 2, waiting: Int = 64, batch: Int64 = 100) {
        self.database = database
        semaphore = Semaphore(width: atOnce, queue: waiting)
        self.batch = batch
    }

    package func end(_ logout: LogoutRecord) async throws(PortError) -> Int64? {
        try await semaphore.run("logouts") { () async throws(PortError) -> Int64? in
            guard let begun = try await begin(logout) else { return nil }
            let ended = logout.cause == .accountEnabled ? 0 : try await endSessions(logout, until: begun)
            // Another call with the same token may have finished first. What this one ended stays ended.
            let isFirst = try await finish(logout, ended)
            return isFirst || (ended > 0 && logout.cause != .globalTokenRevocation) ? ended : nil
        }
    }

    private func endSessions(_ logout: LogoutRecord, until begun: PostgresValue) async throws(PortError) -> Int64 {
        var ended: Int64 = 0
        if let sid = logout.sidDigest {
            ended += try await end([.bytes(sid), .null], of: logout, until: begun, atMost: 1)
        }
        if let user = logout.user {
            // First the unlocked sessions in batches, then the locked ones one by one.
            for limit in [batch, 1] {
                ended += try await end([.null, .text(user.string)], of: logout, until: begun, atMost: limit)
            }
        }
        return ended
    }

    private func begin(_ logout: LogoutRecord) async throws(PortError) -> PostgresValue? {
        let parameters: [PostgresValue] = [
            .bytes(logout.digest), .text(logout.issuer.string), .optionalBytes(logout.sidDigest),
            .optionalText(logout.user?.string), try .instant(logout.issuedAt), .uuid(logout.proposedSessionRowID),
            .bool(logout.limitsUserToSessionsWithoutSID), .text(logout.cause.rawValue),
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
                + [
                    begun, after, .int64(limit), .bool(logout.limitsUserToSessionsWithoutSID),
                    try .instant(logout.issuedAt),
                ]
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
                .text(logout.issuer.string), .bool(logout.sidDigest == nil), .int64(ended),
                .uuid(logout.proposedSessionRowID), .text(logout.cause.rawValue),
            ], of: "a logout"
        ) { row in try row.bool(0) }
    }
}

enum LogoutStatements {
    /// $1 digest, $2 issuer, $3 sid's SHA-256 or NULL, $4 subject or NULL, $5 issued at, $6 row id of the record, $7 only
    /// sessions without `sid`, $8 cause.
    static let begin = Statement("SELECT native_sso.begin_logout($1, $2, $3, $4, $5, $6, $7, $8)")
    /// $1 request, $2 issuer, $3 sid's SHA-256 or NULL, $4 subject or NULL, $5 recorded until, $6 after which row, $7 limit, $8
    /// only sessions without `sid`, $9 issued at.
    static let end = Statement("SELECT ended, after FROM native_sso.end_logged_out($1, $2, $3, $4, $5, $6, $7, $8, $9)")
    /// $1 request, $2 digest, $3 when the token becomes too old, $4 issuer, $5 all sessions of a user, $6 number
    /// ended, $7 row id of the record, $8 cause.
    static let finish = Statement("SELECT native_sso.finish_logout($1, $2, $3, $4, $5, $6, $7, $8)")
}
