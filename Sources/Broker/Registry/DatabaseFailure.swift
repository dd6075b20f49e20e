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
        let rows: [Row]
        do throws(PostgresError) {
            rows = try await query(statement, parameters)
        } catch {
            throw PortError(error)
        }
        do {
            return try rows.map(decode)
        } catch {
            throw .broken("a row of \(what) maps to nothing: \(error)")
        }
    }

    /// Decodes the row of a statement that returns exactly one.
    func one<Value>(
        _ statement: Statement, _ parameters: [PostgresValue], of what: String, _ decode: (Row) throws -> Value
    ) async throws(PortError) -> Value {
        let values = try await all(statement, parameters, of: what, decode)
        guard values.count == 1, let value = values.first else {
            throw .broken("\(values.count) rows from a statement of \(what)")
        }
        return value
    }
}

/// Every statement of this target. A test prepares each of them against the migrated schema.
enum RegistryStatements {
    static let all: [Statement] = single + single.compactMap(\.gathering?.statement)

    private static let single: [Statement] =
        [
            ExchangeStatement.statement, RefreshStatement.statement,
            ClientStatements.all, ClientStatements.scopesRequiringConsent,
            CredentialStatements.secrets, CredentialStatements.keys, PostgresAssertionRegister.use,
            EnrolStatement.statement,
            AuditStatements.record, AuditStatements.preparePartitions,
            AdministrativeAct.record,
            Administration.revokeProviderKey,
            SigningKeyStatements.all, SigningKeyStatements.insert,
        ] + KeyStepStatements.all + ProviderKeyStore.statements + Administration.clientStatements
        + Administration.credentialStatements + Administration.groupStatements + Administration.scopeStatements
        + CodeStatements.all + RetentionStatements.all + LogoutStatements.all + SessionStatements.all
        + GrantStatements.all
        + DeviceStatements.all + AuditListStatements.all
}
