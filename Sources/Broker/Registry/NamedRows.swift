import NativeSSO
import PostgresClient

/// The rows of a table by the name that each belongs to, such as a client. Each row is decoded on its own.
///
/// A row may be unreadable: a newer release stores an algorithm that this one does not know. It is an outage for its name
/// alone, because an upgrade or an operator makes it right. If the name itself cannot be read, it is an outage for every
/// name: the row may belong to any of them.
struct NamedRows<Name: Hashable & Sendable, Value: Sendable>: Sendable {
    private var values: [Name: Result<[Value], PortError>] = [:]
    private var nameless: PortError?
    /// The rows that cannot be read: table, name and column, never a value.
    private(set) var defects: [String] = []

    init(_ rows: [Row], of table: String, by name: (Row) throws -> Name, _ decode: (Row) throws -> Value) {
        for row in rows {
            let owner: Name
            do {
                owner = try name(row)
            } catch {
                nameless = unreadable("a row of \(table)", row, error)
                continue
            }
            do {
                let value = try decode(row)
                values[owner] = values[owner, default: .success([])].map { $0 + [value] }
            } catch {
                values[owner] = .failure(unreadable("\(table) \(owner)", row, error))
            }
        }
    }

    /// The values of one name, in the order of the rows.
    /// - Throws: An outage if one of them cannot be read.
    func of(_ name: Name) throws(PortError) -> [Value] {
        if let nameless { throw nameless }
        guard let found = values[name] else { return [] }
        return try found.get()
    }

    /// The names of all rows, whatever their other columns hold.
    /// - Throws: An outage if one of them cannot be read.
    func names() throws(PortError) -> [Name] {
        if let nameless { throw nameless }
        return Array(values.keys)
    }

    /// The values of all rows that can be read.
    var readable: [Value] { values.values.flatMap { (try? $0.get()) ?? [] } }

    private mutating func unreadable(_ what: String, _ row: Row, _ error: any Error) -> PortError {
        let defect = "\(what): column \(row.column(of: error)) cannot be read"
        defects.append(defect)
        return .outage(Outage(.database, defect))
    }
}

extension Row {
    /// The column that an error of decoding this row is about.
    fileprivate func column(of error: any Error) -> String {
        switch error {
        case let error as CorruptRow: error.column
        case PostgresError.unexpectedResult(let column): name(of: column) ?? "\(column)"
        default: "?"
        }
    }
}

extension StatementExecutor {
    /// Reads all rows of a statement.
    /// - Throws: If the statement fails. A row that cannot be read only shows in the result.
    func named<Name: Hashable & Sendable, Value: Sendable>(
        _ statement: Statement, of table: String, by name: (Row) throws -> Name, _ decode: (Row) throws -> Value
    ) async throws(PortError) -> NamedRows<Name, Value> {
        let rows = try await PortError.database { () async throws(PostgresError) in
            try await query(statement, [PostgresValue]())
        }
        return NamedRows(rows, of: table, by: name, decode)
    }
}
