/// SQL that is fixed at compile time: a `StaticString` cannot hold anything that came from input.
///
/// Prepared once per connection, on first use. The server infers the types of the parameters.
public struct Statement: Sendable, Hashable {
    let sql: StaticString
    /// Of the text: tells a program's own few statements apart, no more.
    private let digest: UInt64
    /// The name under which a connection prepares it: its digest.
    let name: String

    /// How lanes make many calls of it by one; `nil`: each by itself.
    public let gathering: Gathering?

    public init(_ sql: StaticString, gathering: Gathering? = nil) {
        self.sql = sql
        self.gathering = gathering
        digest = FNV1a.digest(sql.description.utf8)
        name = "s" + String(digest, radix: 36)
    }

    /// The SQL text, for the server and for the test that prepares every statement against the schema.
    public var text: String { sql.description }

    public static func == (a: Statement, b: Statement) -> Bool { a.digest == b.digest }
    public func hash(into hasher: inout Hasher) { hasher.combine(digest) }
}

/// What a store needs of the database: one statement, one answer. A caller does not know whether connections of a pool or
/// batching lanes give it.
public protocol StatementExecutor: Sendable {
    /// Runs one statement in a transaction of its own, or in one with others of which no caller hears anything; the rows
    /// are those of a committed statement.
    func query(_ statement: Statement, _ parameters: [PostgresValue]) async throws(PostgresError) -> [Row]

    /// The same, for a statement that locks rows.
    ///
    /// - Parameter row: The row that it locks first.
    func query(
        _ statement: Statement, _ parameters: [PostgresValue], locking row: RowKey
    ) async throws(PostgresError) -> [Row]
}

extension StatementExecutor {
    /// Where every statement has a transaction to itself, it does not matter which row it locks.
    public func query(
        _ statement: Statement, _ parameters: [PostgresValue], locking row: RowKey
    ) async throws(PostgresError) -> [Row] {
        try await query(statement, parameters)
    }

    /// The same, for a statement whose parameters are spelled out.
    public func query(_ statement: Statement, _ parameters: PostgresValue...) async throws(PostgresError) -> [Row] {
        try await query(statement, parameters)
    }
}

/// Stands for the row that a statement locks first.
///
/// A batch of statements holds its locks until it commits. Since every batch of every process runs its statements in the
/// order of these keys, of two batches that want the same rows one waits for the other, and never each for the other. Two
/// rows that share a key by chance may be locked in either order, and then the server ends the wait.
public struct RowKey: Sendable, Hashable, Comparable {
    private let position: UInt64

    /// - Parameter octets: What identifies the row; equal for all statements that lock it.
    public init(_ octets: [UInt8]) { position = FNV1a.digest(octets) }

    private init(position: UInt64) { self.position = position }

    /// For a statement that locks nothing.
    public static let none = RowKey(position: 0)

    public static func < (a: RowKey, b: RowKey) -> Bool { a.position < b.position }
}

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
