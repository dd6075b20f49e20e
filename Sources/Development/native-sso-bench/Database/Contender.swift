/// A way to send a hot statement to PostgreSQL from many callers at once.
enum Contender: String, CaseIterable, Sendable {
    /// The reference: PostgreSQL's own client, in C, with one connection for each caller.
    case pgbench
    /// The broker's way: many calls at a time on each of two connections, with one commit for all of them.
    case lanes
}

/// Rows that one round of one contender has for itself: each caller its own part, round and round.
struct PopulationBlock: Sendable {
    let first: Int
    let callers: Int
    static let rowsPerCaller = 160

    var range: Range<Int> { first..<first + callers * Self.rowsPerCaller }

    func firstRow(ofCaller caller: Int) -> Int { first + caller * Self.rowsPerCaller }
}

/// What was counted in the middle of a round, when everybody was warm.
struct Window: Sendable {
    var operations: Double
    var seconds: Double
    /// Nanoseconds.
    var client: Int64
    var server: Int64
    /// Processors that others kept busy.
    var elsewhere: Double
}
