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
