import NativeSSO
import PostgresClient

extension Administration {
    /// What ``sweep(_:_:)`` would remove now.
    public func sweepable(_ policy: RetentionPolicy) async throws(AdministrationError) -> SweepReport {
        try await Self.database { () async throws(PostgresError) in
            try await Sweeper(database: pool, policy: policy).prospect()
        }
    }

    /// Sweeps now, and records how much went.
    /// - Returns: `nil` where another sweep is running.
    public func sweep(_ policy: RetentionPolicy, _ act: AdministrativeAct) async throws(AdministrationError)
        -> SweepReport?
    {
        try await Self.database { () async throws(PostgresError) in
            guard let report = try await Sweeper(database: pool, policy: policy).sweep(unlessWithin: 0) else {
                return nil
            }
            let details = [
                ("sessions", "\(report.sessions)"), ("grants", "\(report.grants)"), ("devices", "\(report.devices)"),
                ("proofs", "\(report.proofs)"), ("logouts", "\(report.logouts)"),
                ("audit_months", report.auditMonths.joined(separator: " ")),
            ]
            _ = try await pool.query(AdministrativeAct.record, act.parameters(kind: .swept, details: details))
            return report
        }
    }

    private static func database<Value: Sendable>(
        _ call: () async throws(PostgresError) -> Value
    ) async throws(AdministrationError) -> Value {
        do throws(PostgresError) {
            return try await call()
        } catch {
            throw .database(error)
        }
    }
}
