package import NativeSSO
package import PostgresClient
import StrictCoding

/// The operator's changes to the registry. Each change and its audit record share a transaction.
package struct Administration: Sendable {
    let pool: ConnectionPool

    /// - Parameter pool: Connected as a member of `native_sso_admin`.
    package init(pool: ConnectionPool) { self.pool = pool }

    func rows<Value: Sendable>(
        _ statement: Statement, _ parameters: [PostgresValue] = [], _ decode: @Sendable (Row) throws -> Value
    ) async throws(AdministrationError) -> [Value] {
        let rows = try await Self.database { () async throws(PostgresError) in
            try await pool.query(statement, parameters)
        }
        do {
            return try rows.map(decode)
        } catch {
            throw AdministrationError(decoding: error)
        }
    }

    static func database<Value: Sendable>(
        _ call: () async throws(PostgresError) -> Value
    ) async throws(AdministrationError) -> Value {
        do throws(PostgresError) {
            return try await call()
        } catch {
            throw .database(error)
        }
    }

    /// Runs `change` and records the act in the same transaction.
    /// - Parameter missing: Thrown if the change affects no row.
    func change(
        _ change: Statement, _ parameters: [PostgresValue], as kind: AuditKind, _ act: AdministrativeAct,
        details: [(String, String)], orElse missing: AdministrationError
    ) async throws(AdministrationError) {
        try await self.change(Change(change, parameters, as: kind, details: details, orElse: missing), act)
    }

    /// Makes one change and records the act in the same transaction.
    /// - Returns: What the change left, decoded before COMMIT: every error except `outcomeUnknown` means that nothing
    ///   changed.
    @discardableResult
    func change<Value: Sendable>(
        _ change: Change<Value>, _ act: AdministrativeAct
    ) async throws(AdministrationError) -> Value {
        let changed: Value?
        do throws(PostgresError) {
            changed = try await pool.withTransaction { transaction throws(PostgresError) in
                guard let (value, details) = try change.run(in: transaction) else { return nil }
                _ = try transaction.query(AdministrativeAct.record, act.parameters([(change.kind, details)]))
                return value
            }
        } catch {
            if case .server(_, _, let constraint?) = error, let violation = change.violations[constraint] {
                throw violation
            }
            throw AdministrationError(changing: error)
        }
        guard let changed else { throw change.missing }
        return changed
    }
}

/// Why an administrative change failed. Nothing changed, unless the cause is `outcomeUnknown`.
package enum AdministrationError: Error, Sendable {
    case notFound(String)
    case alreadyExists(String)
    /// The change violates a rule of the schema, which the text names.
    case refused(String)
    case database(PostgresError)
    case corrupt(column: String)

    init(decoding error: any Error) {
        switch error {
        case let error as CorruptRow: self = .corrupt(column: error.column)
        case let error as PostgresError: self = .database(error)
        default: self = .corrupt(column: "?")
        }
    }

    init(changing error: PostgresError) {
        switch error {
        case .server(let state, _, let constraint?) where state.isConstraintViolation:
            self = .refused("constraint \(constraint)")
        case .server(let state, let message, nil) where state.isConstraintViolation:
            self = .refused(message)
        default: self = .database(error)
        }
    }
}

/// Who changes something and why. Recorded in the same transaction as the change.
package struct AdministrativeAct: Sendable, Hashable {
    /// The operating system's user, and the one behind `sudo`.
    package let actor: String
    package let reason: String?
    /// The id of all audit records of the act, for `native-sso explain`.
    package let requestID: UniqueID

    package init(actor: String, reason: String?, requestID: UniqueID) {
        self.actor = actor
        self.reason = reason
        self.requestID = requestID
    }

    /// $1 kinds, $2 who, $3 why, $4 details, $5 request.
    static let record = Statement(
        """
        SELECT native_sso.record_administration(kind, $2, $3, details::jsonb, $5)
        FROM unnest($1::text[], $4::text[]) AS event (kind, details)
        """)

    /// - Parameter events: What changed, by name. Never a secret.
    func parameters(_ events: [(kind: AuditKind, details: [(String, String)])]) -> [PostgresValue] {
        [
            .textArray(events.map(\.kind.rawValue)), .text(actor), .optionalText(reason),
            .textArray(events.map { Self.json($0.details) }), .uuid(requestID),
        ]
    }

    private static func json(_ details: [(String, String)]) -> String {
        var json = JSONWriter()
        json.object { json in for (name, value) in details { json.member(name, value) } }
        return String(decoding: json.bytes, as: UTF8.self)
    }
}
