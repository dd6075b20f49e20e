public import NativeSSO
public import PostgresClient

/// Sessions that begin by enrolment, in PostgreSQL.
///
/// Over the pool, not over the lanes: it is rare, it waits for whoever enrols or ends the same login, and no exchange should
/// wait with it.
public struct PostgresEnrolmentRegistry: EnrolmentRegistry {
    private let database: any StatementExecutor

    public init(database: any StatementExecutor) {
        self.database = database
    }

    public func enrol(_ entry: EnrolmentEntry) async throws(PortError) -> EnrolmentFacts {
        let parameters = try EnrolStatement.parameters(entry)
        let rows = try await PortError.database { () async throws(PostgresError) in
            try await database.query(EnrolStatement.statement, parameters)
        }
        guard rows.count == 1 else { throw .broken("\(rows.count) rows from enrol") }
        do {
            return try EnrolStatement.facts(rows[0])
        } catch {
            throw .broken("a row of enrol maps to nothing: \(error)")
        }
    }
}
