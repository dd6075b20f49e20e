package import NativeSSO
package import PostgresClient

/// Ends of sessions in PostgreSQL. A resource server that waits for one holds no connection.
package struct PostgresEndedSessionRegistry: EndedSessionRegistry {
    private let database: BoundedDatabase

    /// - Parameter atOnce: Maximum concurrent calls.
    package init(database: any StatementExecutor, atOnce: Int = 2) {
        self.database = BoundedDatabase(database, atOnce: atOnce, waiting: 256, of: "polls for events")
    }

    package func next(
        for client: ClientID, receiver: String, acknowledged: [UniqueID], limit: Int64, life: Seconds
    ) async throws(PortError) -> [EndedSession] {
        let parameters: [PostgresValue] = [
            .text(client.string), .text(receiver), .uuidArray(acknowledged.map(\.octets)), .int64(limit),
            .int64(life.count),
        ]
        return try await database.query(EndedSessionStatements.poll, EncodedParameters(parameters))
            .all(of: "ended_session") { row in
                EndedSession(id: try row.uniqueID(0), endedAt: try row.instant(1), reason: try row.text(2))
            }
    }

    package func lastPosition() async throws(PortError) -> Int64 {
        try await database.query(EndedSessionStatements.number, EncodedParameters()).only(of: "ended_session") {
            try $0.int64(0)
        }
    }
}

enum EndedSessionStatements {
    /// $1 client, $2 receiver, $3 acknowledged sessions, $4 limit, $5 longest life of an access token in seconds.
    static let poll = Statement(
        "SELECT session_id, ended_at, reason FROM native_sso.poll_ended_sessions($1, $2, $3, $4, $5) ORDER BY place")
    static let number = Statement("SELECT native_sso.number_ends()")
}
