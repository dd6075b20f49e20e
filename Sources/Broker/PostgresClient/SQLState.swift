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
