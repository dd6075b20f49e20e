import NativeSSO
import PostgresClient

/// One change: its statement, and what the audit says of it. A command makes one, a registry file makes many in one
/// transaction.
struct Change<Value: Sendable>: Sendable {
    let kind: AuditKind
    /// Thrown if the change affects no row.
    let missing: AdministrationError
    /// Errors for violated constraints, by constraint name.
    let violations: [String: AdministrationError]
    private let statement: Statement
    private let parameters: [PostgresValue]
    private let details: @Sendable (Value) -> [(String, String)]
    private let decode: @Sendable (Row) throws(PostgresError) -> Value

    /// - Parameters:
    ///   - details: The audit details, derived from what `decode` makes of the first row.
    init(
        _ statement: Statement, _ parameters: [PostgresValue], as kind: AuditKind,
        details: @escaping @Sendable (Value) -> [(String, String)], orElse missing: AdministrationError,
        violating violations: [String: AdministrationError] = [:],
        returning decode: @escaping @Sendable (Row) throws(PostgresError) -> Value
    ) {
        self.kind = kind
        self.missing = missing
        self.violations = violations
        self.statement = statement
        self.parameters = parameters
        self.details = details
        self.decode = decode
    }

    /// - Returns: `nil` if the change affected no row.
    func run(
        in transaction: borrowing Transaction
    ) throws(PostgresError) -> (value: Value, details: [(String, String)])? {
        guard let row = try transaction.query(statement, parameters).first else { return nil }
        let value = try decode(row)
        return (value, details(value))
    }
}

extension Change where Value == Void {
    init(
        _ statement: Statement, _ parameters: [PostgresValue], as kind: AuditKind, details: [(String, String)],
        orElse missing: AdministrationError
    ) {
        self.init(
            statement, parameters, as: kind, details: { _ in details }, orElse: missing,
            returning: { _ throws(PostgresError) in })
    }
}
