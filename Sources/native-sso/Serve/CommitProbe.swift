import BrokerHTTP
import Logging
import PostgresClient
import Synchronization

/// Whether the database confirms commits. A primary whose synchronous standby is gone answers every read, and no commit: each
/// waits for the standby, for as long as that takes, or ends as one that is "committed locally" and may be lost.
///
/// A commit is tried every few seconds, apart from what apps do, since apps may be elsewhere while this broker is not ready. A
/// commit that waits goes on waiting in the server when nobody listens any more, and keeps a connection there; so none is tried
/// while one of this service's own waits, and there is one at most for each broker.
final class CommitProbe: Sendable {
    /// Between two of them. A commit that is not confirmed is noticed this much and a call's deadline later.
    static let interval: Duration = .seconds(2)

    private enum Outcome: Sendable {
        case confirmed
        case failed(StaticString)
    }

    private let database: any StatementExecutor
    private let changes: ChangeLog
    private let latest = Mutex<Outcome?>(nil)

    init(database: any StatementExecutor, logger: Logger) {
        self.database = database
        changes = ChangeLog(logger)
    }

    func run() async {
        let outcome = await attempt()
        latest.withLock { $0 = outcome }
        switch outcome {
        case .confirmed: changes.note(nil, Self.message)
        case .failed(let problem): changes.note("\(problem)", Self.message)
        }
    }

    private func attempt() async -> Outcome {
        do throws(PostgresError) {
            guard try await database.query(Self.waiting, []).isEmpty else { return .failed("standby_missing") }
            _ = try await database.query(Self.commit, [])
            return .confirmed
        } catch {
            switch error {
            case .outcomeUnknown(.committedLocallyOnly): return .failed("committed_locally_only")
            case .outcomeUnknown: return .failed("unconfirmed")
            case .unavailable, .server, .unexpectedResult: return .failed("unavailable")
            }
        }
    }

    private static let message: Logger.Message = "the database confirms no commits"

    /// A commit of this service's login that waits for a standby, for longer than one that is there takes.
    private static let waiting = Statement(
        """
        SELECT 1 FROM pg_catalog.pg_stat_activity
        WHERE usename = current_user AND wait_event = 'SyncRep' AND state_change < clock_timestamp() - interval '1 second'
        LIMIT 1
        """)
    /// In the write-ahead log alone: no table is written.
    private static let commit = Statement(
        "SELECT 1 FROM pg_catalog.pg_logical_emit_message(true, 'native-sso', 'commit probe')")
}

extension CommitProbe: ReadinessCheck {
    var name: String { "database_commits" }

    func problem() async -> StaticString? {
        switch latest.withLock({ $0 }) {
        case .confirmed: nil
        case .failed(let problem): problem
        case nil: "not_tried_yet"
        }
    }
}

extension CommitProbe: MetricSource {
    var samples: [MetricSample] {
        let isConfirmed = if case .confirmed = latest.withLock({ $0 }) { true } else { false }
        return [
            MetricSample(
                "database_commits_confirmed", "1 where the last commit that was tried was confirmed.", .gauge,
                isConfirmed ? 1 : 0)
        ]
    }
}
