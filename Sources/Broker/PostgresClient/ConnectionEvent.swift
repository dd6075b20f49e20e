/// What an operator would want in the log.
public enum ConnectionEvent: Sendable, Equatable {
    case connected(server: String)
    /// `state` is what the server answered, if it answered; `reason` is `deadlineExceeded` if it was silent. `message` is
    /// the first line of what libpq said, if it said anything: never a password, and not escaped.
    case connectFailed(server: String, reason: PostgresError.Reason, state: SQLState?, message: String?)
    /// A connection ended in use: lost, past a deadline, or on a server that stopped taking writes.
    case disconnected(server: String)
}

/// Counters of connections, for metrics. Totals only ever grow.
public struct ConnectionStatistics: Sendable, Equatable {
    /// Established now.
    public var connections = 0
    /// Established since the start.
    public var connectsTotal = 0
    /// Attempts that failed since the start, one for each server tried.
    public var connectFailuresTotal = 0
}
