package import NativeSSO
package import PostgresClient
import StrictCoding

/// Ends by apps in PostgreSQL, and whether a grant is alive.
///
/// Uses the pool, not the lanes: an anonymous caller can ask for the device of any text, and that must not delay
/// exchanges. A concurrency limit leaves connections to the pool's other users.
package struct PostgresRevocationRegistry: RevocationRegistry {
    private let database: BoundedDatabase

    /// - Parameter atOnce: Maximum concurrent calls.
    package init(database: any StatementExecutor, atOnce: Int = 2) {
        self.database = BoundedDatabase(database, atOnce: atOnce, of: "revocations and introspections")
    }

    package func end(_ grant: UniqueID, of client: ClientID, requestID: UniqueID) async throws(PortError) -> GrantEnd {
        try await one(RevocationStatements.end, [.uuid(requestID), .text(client.string), .uuid(grant)]) { row in
            try GrantEnd(try row.text(0), "revoke_own_grant")
        }
    }

    package func signOut(
        _ devices: [Issuer: DeviceDigest], of client: ClientID, holding grant: UniqueID?, requestID: UniqueID
    ) async throws(PortError) -> Int64 {
        let parameters: [PostgresValue] = [
            .uuid(requestID), .text(client.string), .textArray(devices.map(\.key.string)),
            .textArray(devices.map { Hexadecimal.encode($0.value.octets) }), grant.map { .uuid($0) } ?? .null,
        ]
        var ended: Int64 = 0
        while try await one(RevocationStatements.signOut, parameters, { row in try !row.isNull(0) }) { ended += 1 }
        return ended
    }

    package func isLive(
        _ session: UniqueID, of client: ClientID, issuedAt: UnixTime, idle: Seconds
    ) async throws(PortError) -> Bool {
        try await one(
            RevocationStatements.isLive,
            [.uuid(session), .text(client.string), try .pastInstant(issuedAt), .int64(idle.count)]
        ) { row in try row.bool(0) }
    }

    private func one<Value>(
        _ statement: Statement, _ parameters: [PostgresValue], _ decode: (Row) throws -> Value
    ) async throws(PortError) -> Value {
        try await database.query(statement, EncodedParameters(parameters)).only(of: "a revocation", decode)
    }
}

enum RevocationStatements {
    /// $1 request, $2 client, $3 grant.
    static let end = Statement("SELECT native_sso.revoke_own_grant($1, $2, $3)")
    /// $1 request, $2 client, $3 issuers, $4 digests of the device value in hexadecimal, $5 grant or NULL.
    static let signOut = Statement("SELECT native_sso.end_signed_out($1, $2, $3, $4, $5)")
    /// $1 session, $2 client, $3 issued at, $4 idle seconds.
    static let isLive = Statement("SELECT native_sso.is_grant_live($1, $2, $3, $4)")
}
