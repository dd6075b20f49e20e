package import NativeSSO
package import PostgresClient

/// Ends of sessions in PostgreSQL. A resource server that waits for one holds no connection.
package struct PostgresEndedSessionRegistry: EndedSessionRegistry {
    private let database: any StatementExecutor
    private let semaphore: Semaphore

    /// - Parameters:
    ///   - atOnce: Maximum concurrent calls. The pool's other users keep the rest of its connections.
    ///   - waiting: Maximum waiting calls. Further ones get an outage and must retry.
    ///   - patience: Maximum waiting time; a longer wait ends in an outage too.
    package init(
        database: any StatementExecutor, atOnce: Int = 2, waiting: Int = 256, patience: Duration = .seconds(1)
    ) {
        self.database = database
        semaphore = Semaphore(width: atOnce, queue: waiting, patience: patience)
    }

    package func next(
        for client: ClientID, receiver: String, acknowledged: [UniqueID], limit: Int64, life: Seconds
    ) async throws(PortError) -> [EndedSession] {
        try await enter()
        defer { semaphore.leave() }
        return try await database.all(
            EndedSessionStatements.poll,
            [
                .text(client.string), .text(receiver), .uuidArray(acknowledged.map(\.octets)), .int64(limit),
                .int64(life.count),
            ], of: "ended_session"
        ) { row in
            EndedSession(id: try row.uniqueID(0), endedAt: try row.instant(1), reason: try row.text(2))
        }
    }

    package func lastPosition() async throws(PortError) -> Int64 {
        try await enter()
        defer { semaphore.leave() }
        return try await database.one(EndedSessionStatements.number, [], of: "ended_session") { try $0.int64(0) }
    }

    private func enter() async throws(PortError) {
        guard await semaphore.enter() else { throw .outage(Outage(.database, "too many polls for events at once")) }
    }
}

enum EndedSessionStatements {
    /// $1 client, $2 receiver, $3 acknowledged sessions, $4 limit, $5 longest life of an access token in seconds.
    static let poll = Statement(
        "SELECT session_id, ended_at, reason FROM native_sso.poll_ended_sessions($1, $2, $3, $4, $5) ORDER BY place")
    static let number = Statement("SELECT native_sso.number_ends()")
}
