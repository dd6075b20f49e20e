package import NativeSSO
package import PostgresClient

/// Sessions, groups, devices and grants in PostgreSQL: one statement per call, and its answer only when it is committed.
package struct PostgresGrantRegistry: GrantRegistry {
    private let database: any StatementExecutor

    /// What is sent for an exchange, and for a refresh: for whoever measures or prepares them.
    package static var exchanging: Statement { ExchangeStatement.statement }
    package static var refreshing: Statement { RefreshStatement.statement }

    package init(database: any StatementExecutor) {
        self.database = database
    }

    package func admit(_ admission: Admission) async throws(PortError) -> AdmissionFacts {
        try await row(
            ExchangeStatement.statement, ExchangeStatement.parameters(admission),
            locking: ExchangeStatement.row(admission),
            ExchangeStatement.facts)
    }

    package func rotate(_ rotation: Rotation) async throws(PortError) -> RotationFacts {
        try await row(
            RefreshStatement.statement, RefreshStatement.parameters(rotation),
            locking: RefreshStatement.row(rotation), RefreshStatement.facts)
    }

    private func row<Facts>(
        _ statement: Statement, _ parameters: EncodedParameters, locking key: RowKey,
        _ decode: (Row) throws -> Facts
    ) async throws(PortError) -> Facts {
        let rows: [Row]
        do throws(PostgresError) {
            rows = try await database.query(statement, parameters, locking: key)
        } catch {
            throw PortError(error)
        }
        guard rows.count == 1 else { throw .broken("\(rows.count) rows from a hot statement") }
        do {
            return try decode(rows[0])
        } catch {
            throw .broken("a row of a hot statement maps to nothing: \(error)")
        }
    }
}

/// Used client assertions in PostgreSQL: a row each until it has expired, and a primary key that decides any race.
package struct PostgresAssertionRegister: AssertionRegister {
    private let database: any StatementExecutor

    package init(database: any StatementExecutor) {
        self.database = database
    }

    package func use(_ assertion: AssertionID, until: UnixTime) async throws(PortError) -> Bool {
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
