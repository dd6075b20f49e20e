import BrokerHTTP
import Logging
import NativeSSO
import PostgresClient
import Synchronization

/// Whether the database confirms commits. A primary whose synchronous standby is gone answers every read, and no commit: each
/// waits for the standby, for as long as that takes, or ends as one that is "committed locally" and may be lost.
///
/// A commit is tried every few seconds, apart from what apps do, since apps may be elsewhere while this broker is not ready. A
/// commit that waits goes on waiting in the server when nobody listens any more, and keeps a connection there; so none is tried
/// while one of this service's own waits, and there is one at most for each broker.
///
/// And whether they are worth something: a server that is read-only confirms none, one with `synchronous_commit` off confirms what it may
/// lose; and where its clock and the broker's are far apart, tokens and grants mean other times than they say.
final class CommitProbe: Sendable {
    /// Between two of them. A commit that is not confirmed is noticed this much and a call's deadline later.
    static let interval: Duration = .seconds(2)

    private enum Outcome: Sendable {
        case confirmed
        case failed(StaticString)
    }

    private let database: any StatementExecutor
    private let clock: any WallClock
    private let changes: ChangeLog
    private let latest = Mutex<Outcome?>(nil)

    init(database: any StatementExecutor, clock: any WallClock, logger: Logger) {
        self.database = database
        self.clock = clock
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
            guard let row = try await database.query(Self.state, []).first else { return .failed("unavailable") }
            let state = DatabaseState(
                isReadOnly: try row.bool(0), commitsMayBeLost: try row.bool(1), waitsForStandby: try row.bool(2),
                milliseconds: try row.int64(3))
            if let problem = state.problem(at: clock.milliseconds) { return .failed(problem) }
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

    /// Third: whether a commit of this service's login waits for a standby, for longer than one that is there takes.
    private static let state = Statement(
        """
        SELECT pg_catalog.pg_is_in_recovery() OR pg_catalog.current_setting('transaction_read_only')::boolean,
            pg_catalog.current_setting('synchronous_commit') = 'off'
                OR pg_catalog.current_setting('synchronous_commit') = 'local'
                    AND pg_catalog.current_setting('synchronous_standby_names') <> '',
            EXISTS (
                SELECT FROM pg_catalog.pg_stat_activity
                WHERE usename = current_user AND wait_event = 'SyncRep'
                    AND state_change < clock_timestamp() - interval '1 second'),
            (extract(epoch FROM clock_timestamp()) * 1000)::bigint
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
            .gauge(
                "database_commits_confirmed", "1 where the last commit that was tried was confirmed.",
                isConfirmed ? 1 : 0)
        ]
    }
}

/// What the database says of itself beside a commit.
struct DatabaseState: Sendable {
    let isReadOnly: Bool
    /// Whether it confirms commits that a crash, or a failover to its synchronous standby, may lose.
    let commitsMayBeLost: Bool
    /// Whether a commit of this service waits for a standby that does not answer.
    let waitsForStandby: Bool
    /// Its clock: milliseconds since 1970-01-01T00:00:00Z.
    let milliseconds: Int64

    /// How far its clock may be from the broker's. Proofs and assertions are judged by the one, grants by the other.
    static let clockTolerance: Int64 = 30_000

    /// Why no request should come here; `nil`: none.
    /// - Parameter now: The broker's clock, in the same unit.
    func problem(at now: Int64) -> StaticString? {
        if isReadOnly { return "read_only" }
        if commitsMayBeLost { return "synchronous_commit_off" }
        if waitsForStandby { return "standby_missing" }
        let (distance, overflow) = milliseconds.subtractingReportingOverflow(now)
        return overflow || distance.magnitude > Self.clockTolerance.magnitude ? "clocks_apart" : nil
    }
}
