/// Why a database call failed. Never contains a parameter, a row or a password.
package enum PostgresError: Error, Sendable, Equatable {
    /// Nothing changed: the call was not sent, or its transaction cannot have committed.
    case unavailable(Reason)
    /// The call was sent but not answered: it may have taken effect, or may still do so.
    case outcomeUnknown(Reason)
    /// The server returned an error. `message` is its primary message, `constraint` the name of a violated constraint.
    ///
    /// The message is empty for data exceptions (class 22), because their text quotes parameters.
    case server(SQLState, message: String, constraint: String?)
    /// The answer does not have the expected columns or types.
    case unexpectedResult(column: Int)

    package enum Reason: String, Sendable, CaseIterable {
        case connectFailed = "connect_failed"
        case notWritable = "not_writable"
        /// The database is from an earlier moment than one that the broker has seen. See ``DatabaseHistory``.
        case databaseWentBackwards = "database_went_backwards"
        /// A pooler between broker and database gives each transaction another session.
        case transactionPooling = "transaction_pooling"
        case queueFull = "queue_full"
        case queueWaitExceeded = "queue_wait_exceeded"
        case shuttingDown = "shutting_down"
        case cancelledWhileQueued = "cancelled_while_queued"
        case deadlineExceeded = "deadline_exceeded"
        case connectionLost = "connection_lost"
        case committedLocallyOnly = "committed_locally_only"
        case commitFailed = "commit_failed"

        package static let transactionPoolingRemedy =
            "a pooler gives each transaction another database session, which loses settings and notifications; "
            + "set pool_mode = session there, or connect without it"
    }
}

/// For the log: a reason code and the server's message.
extension PostgresError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .unavailable(let reason): "unavailable: \(reason.rawValue)"
        case .outcomeUnknown(let reason): "outcome unknown: \(reason.rawValue)"
        case .server(let state, let message, _): message.isEmpty ? "refused: \(state)" : "refused: \(state) \(message)"
        case .unexpectedResult(let column): "column \(column) of the answer is not one that the statement asks for"
        }
    }
}

/// A five-character SQLSTATE, PostgreSQL appendix A.
package struct SQLState: Sendable, Hashable, CustomStringConvertible {
    package let code: String
    package init(_ code: String) { self.code = code }
    package var description: String { code }

    /// Class 22: a value does not fit its type.
    package var isDataException: Bool { code.hasPrefix("22") }
    /// Class 23: the statement violates a constraint of the schema.
    package var isConstraintViolation: Bool { code.hasPrefix("23") }
    /// The same statement may succeed on a retry: 40001, 40P01.
    package var isRetryable: Bool { code == "40001" || code == "40P01" }
    /// A lock was not available within `lock_timeout`: 55P03.
    package var isLockTimeout: Bool { code == "55P03" }
    /// The server is read-only, such as a standby: 25006.
    package var isReadOnly: Bool { code == "25006" }
    /// The server ends the connection: 57P01 to 57P05.
    package var isShutdown: Bool { code.hasPrefix("57P0") }
    /// The database lacks a schema, table, column or function that this program needs: migrations are missing.
    package var isMissingSchema: Bool { ["3F000", "42P01", "42703", "42883"].contains(code) }
    /// The server's state is the cause, not the statement: connection, resources, shutdown, lock or statement
    /// timeout, read-only, serialization. Callers treat it as an outage.
    package var isTransient: Bool {
        ["08", "40", "53", "57", "58"].contains { code.hasPrefix($0) } || isReadOnly || isLockTimeout
    }
}
