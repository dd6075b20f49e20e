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

/// A five-character SQLSTATE, PostgreSQL appendix A.
public struct SQLState: Sendable, Hashable, CustomStringConvertible {
    public let code: String
    public init(_ code: String) { self.code = code }
    public var description: String { code }

    /// Class 23: a rule of the schema.
    public var isConstraintViolation: Bool { code.hasPrefix("23") }
    /// The same statement may succeed if it is run again: 40001, 40P01.
    public var isRetryable: Bool { code == "40001" || code == "40P01" }
    /// A lock was not had within `lock_timeout`: 55P03.
    public var isLockTimeout: Bool { code == "55P03" }
    /// The server takes no writes, as a standby does: 25006.
    public var isReadOnly: Bool { code == "25006" }
    /// The server ends the connection: 57P01 to 57P05.
    public var isShutdown: Bool { code.hasPrefix("57P0") }
    /// The database has not the schema, table, column or function that this program knows: it is not migrated.
    public var isMissingSchema: Bool { ["3F000", "42P01", "42703", "42883"].contains(code) }
    /// The server's state, not the statement, is to blame: connection, resources, shutdown, lock or statement timeout,
    /// read-only, serialization. An outage to whoever asked.
    public var isTransient: Bool {
        ["08", "40", "53", "57", "58"].contains { code.hasPrefix($0) } || isReadOnly || isLockTimeout
    }
}
