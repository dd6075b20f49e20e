import Logging
import NativeSSO
import PostgresClient
import Registry

/// Sweeps in the background. Nothing waits for it, and liveness does not depend on it.
struct SweepService: Sendable {
    /// Between two sweeps, of however many brokers.
    private static let spacing: Seconds = .hours(1)
    static let interval: Duration = .seconds(spacing.count)

    private let sweeper: Sweeper
    private let logger: Logger
    private let changes: ChangeLog

    init(database: any StatementExecutor, logger: Logger) {
        sweeper = Sweeper(database: database)
        self.logger = logger
        changes = ChangeLog(logger)
    }

    func run() async {
        do throws(PostgresError) {
            let report = try await sweeper.sweep(unlessWithin: Self.spacing)
            changes.note(nil, Self.message)
            if let report, !report.isEmpty { log(report) }
        } catch {
            changes.note("\(error)", Self.message)
        }
    }

    private func log(_ report: SweepReport) {
        var metadata: Logger.Metadata = ["complete": .stringConvertible(report.isComplete)]
        for (name, count) in report.counts { metadata[name] = .stringConvertible(count) }
        logger.info("swept", metadata: metadata)
    }

    private static let message: Logger.Message = "what is over cannot be removed"
}
