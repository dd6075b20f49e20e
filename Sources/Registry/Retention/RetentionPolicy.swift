public import NativeSSO

/// For how long what is over is kept.
public struct RetentionPolicy: Sendable, Hashable {
    /// After the end of a session: its row and its grants. Revoked grants and forgotten devices go by it too.
    public let sessions: Seconds
    /// After the end of a month: its audit.
    public let audit: Seconds

    /// The longest for which a subject token can be accepted: until then the row of an ended session is what refuses it.
    /// The schema holds to it as well, whatever it is asked.
    public static let shortestForSessions: Seconds = .days(90)
    /// The schema's, too.
    public static let shortestForAudit: Seconds = .days(30)

    public init(sessions: Seconds, audit: Seconds) {
        self.sessions = sessions
        self.audit = audit
    }
}

/// What a sweep removed, or would.
public struct SweepReport: Sendable, Hashable {
    /// Sessions, and with each its grants.
    public internal(set) var sessions: Int64 = 0
    /// Revoked grants of sessions that stay.
    public internal(set) var grants: Int64 = 0
    public internal(set) var devices: Int64 = 0
    public internal(set) var proofs: Int64 = 0
    /// Marks of users who logged out everywhere.
    public internal(set) var logouts: Int64 = 0
    /// Partitions of the audit that were emptied, such as `audit_event_p2026_11`.
    public internal(set) var auditMonths: [String] = []
    /// `false`: it was stopped, or another sweep came between.
    public internal(set) var isComplete = false

    public var isEmpty: Bool { sessions + grants + devices + proofs + logouts == 0 && auditMonths.isEmpty }
}
