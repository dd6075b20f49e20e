import NativeSSO
import PostgresClient

extension PortError {
    /// Calls the database. Maps every failure to ``PortError``, never to a refusal.
    static func database<Value: Sendable>(
        _ call: () async throws(PostgresError) -> Value
    ) async throws(PortError) -> Value {
        do throws(PostgresError) {
            return try await call()
        } catch {
            throw PortError(error)
        }
    }

    /// - Parameter what: Names the table or function in an error.
    static func decoding<Value>(_ what: String, _ decode: () throws -> Value) throws(PortError) -> Value {
        do {
            return try decode()
        } catch {
            throw .broken("a row of \(what) maps to nothing: \(error)")
        }
    }

    init(_ error: PostgresError) {
        switch error {
        case .unavailable, .outcomeUnknown: self = .outage(Outage(.database, "\(error)"))
        case .server(let state, _, _) where state.isTransient || state.isMissingSchema:
            self = .outage(Outage(.database, "\(error)"))
        case .server, .unexpectedResult: self = .broken("\(error)")
        }
    }
}

extension StatementExecutor {
    /// Decodes all rows of a statement.
    /// - Parameter what: Names the table in an error.
    func all<Value>(
        _ statement: Statement, _ parameters: [PostgresValue], of what: String, _ decode: (Row) throws -> Value
    ) async throws(PortError) -> [Value] {
        let rows = try await PortError.database { () async throws(PostgresError) in
            try await query(statement, parameters)
        }
        return try rows.all(of: what, decode)
    }

    /// Decodes the row of a statement that returns exactly one.
    func one<Value>(
        _ statement: Statement, _ parameters: [PostgresValue], locking row: RowKey = .none, of what: String,
        _ decode: (Row) throws -> Value
    ) async throws(PortError) -> Value {
        try await one(statement, EncodedParameters(parameters), locking: row, of: what, decode)
    }

    /// The same with encoded parameters.
    func one<Value>(
        _ statement: Statement, _ parameters: EncodedParameters, locking row: RowKey, of what: String,
        _ decode: (Row) throws -> Value
    ) async throws(PortError) -> Value {
        let rows: [Row]
        do throws(PostgresError) {
            rows = try await query(statement, parameters, locking: row)
        } catch {
            throw PortError(error)
        }
        return try rows.only(of: what, decode)
    }
}

extension [Row] {
    func all<Value>(of what: String, _ decode: (Row) throws -> Value) throws(PortError) -> [Value] {
        try PortError.decoding(what) { try map(decode) }
    }

    func only<Value>(of what: String, _ decode: (Row) throws -> Value) throws(PortError) -> Value {
        guard count == 1 else { throw .broken("\(count) rows from a statement of \(what)") }
        return try PortError.decoding(what) { try decode(self[0]) }
    }
}
