/// All rows of one answer, as libpq received them, shared by the rows and freed with the last of them.
///
/// `@unchecked Sendable`: nothing changes a `PGresult` once it is complete, and libpq lets any number of threads read it
/// (*Behavior in Threaded Programs*).
final class Answer: @unchecked Sendable {
    private let result: ResultHandle
    let columns: Int
    let names: ColumnNames
    let count: Int

    init(_ result: consuming ResultHandle, _ names: ColumnNames) {
        self.names = names
        columns = result.columns
        count = result.rows
        self.result = result
    }

    var rows: [Row] { (0..<count).map { Row(answer: self, index: $0) } }

    func isNull(row: Int, column: Int) throws(PostgresError) -> Bool {
        try check(row, column)
        return result.isNull(row: row, column: column)
    }

    /// Lends the octets of one value, and its type. Throws where there is NULL or no such column.
    func withValue<Value>(
        row: Int, column: Int, _ body: (Span<UInt8>, ColumnType) throws(PostgresError) -> Value
    ) throws(PostgresError) -> Value {
        try check(row, column)
        guard !result.isNull(row: row, column: column) else { throw .unexpectedResult(column: column) }
        return try result.withValue(row: row, column: column, body)
    }

    private func check(_ row: Int, _ column: Int) throws(PostgresError) {
        guard row >= 0, row < count, column >= 0, column < columns else { throw .unexpectedResult(column: column) }
    }
}

/// Where the columns of a statement's answers stand: read once for each statement of a connection.
struct ColumnNames: Sendable {
    private let positions: [String: Int]

    init(_ result: borrowing ResultHandle) {
        var positions: [String: Int] = [:]
        for column in 0..<result.columns { positions[result.name(of: column)] = column }
        self.positions = positions
    }

    func position(of name: String) throws(PostgresError) -> Int {
        guard let position = positions[name] else { throw .unexpectedResult(column: -1) }
        return position
    }
}
