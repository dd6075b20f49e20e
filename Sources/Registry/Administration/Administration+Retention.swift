public import NativeSSO
import PostgresClient

extension Administration {
    /// What ``sweep(_:_:)`` would remove now.
    public func sweepable(_ policy: RetentionPolicy) async throws(PortError) -> SweepReport {
        try await Sweeper(database: pool, policy: policy).prospect()
    }

    /// Sweeps now, and records how much went.
    /// - Returns: `nil` where another sweep is running.
    public func sweep(_ policy: RetentionPolicy, _ act: AdministrativeAct) async throws(PortError) -> SweepReport? {
        guard let report = try await Sweeper(database: pool, policy: policy).sweep(unlessWithin: 0) else { return nil }
        let details = [
            ("sessions", "\(report.sessions)"), ("grants", "\(report.grants)"), ("devices", "\(report.devices)"),
            ("proofs", "\(report.proofs)"), ("audit_months", report.auditMonths.joined(separator: " ")),
        ]
        _ = try await PortError.database { () async throws(PostgresError) in
            try await pool.query(AdministrativeAct.record, act.parameters(kind: "swept", details: details))
        }
        return report
    }
}
