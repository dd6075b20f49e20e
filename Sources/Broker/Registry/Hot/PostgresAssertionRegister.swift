public import NativeSSO
public import PostgresClient

/// Used client assertions in PostgreSQL: a row each until it has expired, and a primary key that decides any race.
public struct PostgresAssertionRegister: AssertionRegister {
    private let database: any StatementExecutor

    public init(database: any StatementExecutor) {
        self.database = database
    }

    public func use(_ assertion: AssertionID, until: UnixTime) async throws(PortError) -> Bool {
        let parameters: [PostgresValue] = [.bytes(assertion.digest), try .instant(until)]
        let rows = try await PortError.database { () async throws(PostgresError) in
            try await database.query(Self.use, parameters, locking: RowKey(assertion.digest))
        }
        guard rows.count == 1, let isFirst = try? rows[0].bool(0) else {
            throw .broken("use_client_assertion did not answer yes or no")
        }
        return isFirst
    }

    /// $1 digest, $2 expiry.
    static let use = Statement("SELECT native_sso.use_client_assertion($1, $2)")
}
