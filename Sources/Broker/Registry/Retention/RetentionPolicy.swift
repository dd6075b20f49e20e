/// How long records are kept after their end. Only an administrator reads and changes it: see the table `retention`.
public struct RetentionPolicy: Sendable, Hashable {
    /// Sessions with their grants, revoked grants, forgotten devices and logouts of users.
    public let sessionDays: Int32
    /// The audit, counted from the end of its month.
    public let auditDays: Int32

    public init(sessionDays: Int32, auditDays: Int32) {
        self.sessionDays = sessionDays
        self.auditDays = auditDays
    }
}

/// What a sweep removed, or would.
public struct SweepReport: Sendable, Hashable {
    /// Sessions, and with each its grants.
    public internal(set) var sessions: Int64 = 0
    /// Revoked grants of sessions that stay.
    public internal(set) var grants: Int64 = 0
    public internal(set) var devices: Int64 = 0
    /// Used proofs and relayed codes.
    public internal(set) var proofs: Int64 = 0
    /// Marks of users who logged out everywhere.
    public internal(set) var logouts: Int64 = 0
    /// Partitions of the audit that were emptied.
    public internal(set) var auditMonths: Int64 = 0
    /// `false`: it was stopped, or another sweep came between.
    public internal(set) var isComplete = false

    public var isEmpty: Bool { counts.allSatisfy { $0.count == 0 } }

    /// The counts with their names in the log and in the audit.
    public var counts: [(name: String, count: Int64)] {
        [
            ("sessions", sessions), ("grants", grants), ("devices", devices), ("proofs", proofs), ("logouts", logouts),
            ("audit_months", auditMonths),
        ]
    }
}
