import Logging
import NativeSSO
import PostgresClient
import Registry

/// Sweeps in the background. Nothing waits for it, and liveness does not depend on it.
struct SweepService: Sendable {
    let interval: Duration
    private let spacing: Seconds
    private let sweeper: Sweeper
    private let logger: Logger
    private let changes: ChangeLog

    init(_ retention: Configuration.Retention, database: any StatementExecutor, logger: Logger) {
        spacing = retention.interval
        interval = .seconds(retention.interval.count)
        sweeper = Sweeper(database: database, policy: retention.policy)
        self.logger = logger
        changes = ChangeLog(logger)
    }

    func run() async {
        do throws(PostgresError) {
            let report = try await sweeper.sweep(unlessWithin: spacing)
            changes.note(nil, Self.message)
            if let report, !report.isEmpty { log(report) }
        } catch {
            changes.note("\(error)", Self.message)
        }
    }

    private func log(_ report: SweepReport) {
        logger.info(
            "swept",
            metadata: [
                "sessions": .stringConvertible(report.sessions), "grants": .stringConvertible(report.grants),
                "devices": .stringConvertible(report.devices), "proofs": .stringConvertible(report.proofs),
                "logouts": .stringConvertible(report.logouts),
                "audit_months": .string(report.auditMonths.joined(separator: " ")),
                "complete": .stringConvertible(report.isComplete),
            ])
    }

    private static let message: Logger.Message = "what is over cannot be removed"
}
