import Synchronization

/// SQL that is fixed at compile time: a `StaticString` cannot contain input.
///
/// Each connection prepares it on first use. The server infers the parameter types.
package struct Statement: Sendable, Hashable {
    let sql: StaticString
    package var text: String { sql.description }
    /// Digest of the text. It only has to distinguish this program's own statements.
    private let digest: UInt64
    /// The name of the prepared statement: its digest.
    let name: String

    /// How lanes run several calls as one statement; `nil`: each call runs on its own.
    let gathering: Gathering?

    package init(_ sql: StaticString, gathering: Gathering? = nil) {
        self.sql = sql
        self.gathering = gathering
        digest = FNV1a.digest(sql.description.utf8)
        name = "s" + String(digest, radix: 36)
    }

    package static func == (a: Statement, b: Statement) -> Bool { a.digest == b.digest }
    package func hash(into hasher: inout Hasher) { hasher.combine(digest) }
}

/// A store's access to the database: one statement, one result. The implementation is a connection pool or batching
/// lanes.
package protocol StatementExecutor: Sendable {
    /// Runs one statement, in its own transaction or in one with other calls. Returns the rows after the commit.
    ///
    /// - Parameter row: The row that the statement locks first. Only lanes use it.
    func query(
        _ statement: Statement, _ parameters: EncodedParameters, locking row: RowKey
    ) async throws(PostgresError) -> [Row]
}

extension StatementExecutor {
    /// The same with a list of parameters.
    package func query(
        _ statement: Statement, _ parameters: [PostgresValue], locking row: RowKey = .none
    ) async throws(PostgresError) -> [Row] {
        try await query(statement, EncodedParameters(parameters), locking: row)
    }

    /// The same with variadic parameters.
    package func query(_ statement: Statement, _ parameters: PostgresValue...) async throws(PostgresError) -> [Row] {
        try await query(statement, parameters)
    }
}

/// Identifies the row that a statement locks first.
///
/// A batch holds its locks until commit. Every batch of every process runs its statements in the order of these keys,
/// so two batches cannot deadlock. If two rows share a key by chance, their order is arbitrary, and the server
/// resolves a deadlock.
package struct RowKey: Sendable, Hashable, Comparable {
    private let position: UInt64

    /// - Parameter octets: The identity of the row; equal for all statements that lock it.
    package init(_ octets: [UInt8]) { position = FNV1a.digest(octets) }

    private init(position: UInt64) { self.position = position }

    /// For a statement that locks no row.
    package static let none = RowKey(position: 0)

    package static func < (a: RowKey, b: RowKey) -> Bool { a.position < b.position }
}

/// A result as libpq received it, shared by its rows and freed with the last one.
///
/// `@unchecked Sendable`: a complete `PGresult` is immutable, and libpq allows concurrent reads (*Behavior in
/// Threaded Programs*).
final class Answer: @unchecked Sendable {
    let result: ResultHandle
    let columns: Int
    private let names: ColumnNames
    /// The column that was asked for last. The next one is near it: most are asked for in their order.
    private let last = Atomic(0)

    init(_ result: consuming ResultHandle, _ names: ColumnNames) {
        self.names = names
        columns = result.columns
        self.result = result
    }

    func position(of name: String) throws(PostgresError) -> Int {
        let position = try names.position(of: name, from: last.load(ordering: .relaxed))
        last.store(position, ordering: .relaxed)
        return position
    }

    var rows: [Row] { (0..<result.rows).map { Row(answer: self, index: $0) } }
}

/// The columns of a statement's results: read once per statement and connection. Of two columns with one name, either is
/// found.
struct ColumnNames: Sendable {
    private let names: [String]

    init(_ result: borrowing ResultHandle) { names = (0..<result.columns).map { result.name(of: $0) } }

    /// - Parameter start: Where the search begins.
    func position(of name: String, from start: Int) throws(PostgresError) -> Int {
        for position in start..<names.count where names[position] == name { return position }
        for position in 0..<start where names[position] == name { return position }
        throw .unexpectedResult(column: -1)
    }
}

/// FNV-1a, 64 bits: fast and the same in every process. It does not resist deliberate collisions.
private enum FNV1a {
    static func digest(_ octets: some Sequence<UInt8>) -> UInt64 {
        var digest: UInt64 = 0xcbf2_9ce4_8422_2325
        for octet in octets { digest = (digest ^ UInt64(octet)) &* 0x100_0000_01b3 }
        return digest
    }
}
