/// Why a call to the database has no answer. Never holds a parameter, a row or a password.
public enum PostgresError: Error, Sendable, Equatable {
    /// Nothing was changed: it was not sent, or the transaction it was part of cannot have been committed.
    case unavailable(Reason)
    /// It was sent and no answer came: it may have happened, or may yet happen.
    case outcomeUnknown(Reason)
    /// The server refused. `message` is the server's primary message, `constraint` the name of a violated constraint.
    ///
    /// The message is empty for data exceptions (class 22), whose text quotes what was sent.
    case server(SQLState, message: String, constraint: String?)
    /// An answer that does not have the expected columns or types.
    case unexpectedResult(column: Int)

    public enum Reason: String, Sendable, CaseIterable {
        case connectFailed = "connect_failed"
        case notWritable = "not_writable"
        /// Another cluster than the one first met, or an older state of it: restored, or a fork that lost writes.
        case databaseWentBackwards = "database_went_backwards"
        case queueFull = "queue_full"
        case queueWaitExceeded = "queue_wait_exceeded"
        case shuttingDown = "shutting_down"
        case cancelledWhileQueued = "cancelled_while_queued"
        case deadlineExceeded = "deadline_exceeded"
        case connectionLost = "connection_lost"
        case committedLocallyOnly = "committed_locally_only"
        case commitFailed = "commit_failed"
    }
}

/// For the log: fixed words, a reason code, and what the server said.
extension PostgresError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .unavailable(let reason): "unavailable: \(reason.rawValue)"
        case .outcomeUnknown(let reason): "outcome unknown: \(reason.rawValue)"
        case .server(let state, let message, _): message.isEmpty ? "refused: \(state)" : "refused: \(state) \(message)"
        case .unexpectedResult(let column): "column \(column) of the answer is none that was asked for"
        }
    }
}
