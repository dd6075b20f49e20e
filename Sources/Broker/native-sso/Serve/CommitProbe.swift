import BrokerHTTP
import Logging
import NativeSSO
import PostgresClient
import Synchronization

/// Checks whether the database confirms commits. A primary that has lost its synchronous standby answers reads, but
/// its commits wait for the standby, or end as "committed locally" and may be lost.
///
/// It commits every 2 s on its own, because apps may use other brokers while this one is not ready. What it commits is the
/// broker's count, and the broker remembers each confirmed number: see ``DatabaseHistory``. An unconfirmed commit keeps
/// waiting in the server and occupies a connection there. So no probe starts while a commit of this service waits, and
/// each broker has at most one.
///
/// It also checks that commits are reliable: the server must not be read-only. `synchronous_commit` must not be `off`,
/// nor `local` if there are synchronous standbys. The database's clock must be within 30 s of the broker's, or the
/// times in tokens and grants disagree: see ``certainty``.
final class CommitProbe: Sendable {
    /// The time between two probes. An unconfirmed commit is noticed after this time plus a call's deadline.
    static let interval: Duration = .seconds(2)

    /// A connection of its own: an unconfirmed commit must hold up no request.
    private let database: ConnectionPool
    private let history: DatabaseHistory
    private let broker: UniqueID
    /// `nil`: no state directory is configured.
    private let file: MemoryFile?
    private let clock: any WallClock
    private let changes: ChangeLog
    private let fileChanges: ChangeLog
    /// Whether the broker can answer requests, as far as the database does not decide it.
    private let serves: @Sendable () -> Bool
    private let state = Mutex(State())
    private let begun = Mutex<Task<Void, Never>?>(nil)

    private struct State {
        /// Why the last probe failed; `nil`: the database confirmed its commit.
        var problem: StaticString? = "not_tried_yet"
        /// When a probe last began whose commit the database confirmed.
        var confirmed: ContinuousClock.Instant?
        /// The database's clock at an instant of the last probe, in milliseconds since 1970.
        var database: (milliseconds: Int64, at: ContinuousClock.Instant)?
    }

    /// - Parameter serves: Whether the broker can answer requests, as far as the database does not decide it.
    init(
        database: ConnectionPool, history: DatabaseHistory, broker: UniqueID, file: MemoryFile?,
        clock: any WallClock, serves: @escaping @Sendable () -> Bool, logger: Logger
    ) {
        self.serves = serves
        self.database = database
        self.history = history
        self.broker = broker
        self.file = file
        self.clock = clock
        changes = ChangeLog(logger)
        fileChanges = ChangeLog(logger)
    }

    /// Begins the first probe, for which ``run()`` then waits.
    func begin() { begun.withLock { $0 = Task { await probe() } } }

    func run() async {
        if let begun = begun.withLock({ $0.take() }) { await begun.value } else { await probe() }
    }

    func shutdown() async { await database.shutdown() }

    private func probe() async {
        let begun = ContinuousClock.now
        let problem = await attempt()
        state.withLock { state in
            state.problem = problem
            if problem == nil { state.confirmed = begun }
        }
        changes.note(problem.map { "\($0)" }, "the database confirms no commits")
    }

    private func attempt() async -> StaticString? {
        do throws(PostgresError) {
            let state = try await DatabaseState.read(from: database)
            let problem = state.problem(at: clock.milliseconds)
            self.state.withLock { $0.database = (state.milliseconds, .now) }
            // What may be lost again is not counted. Clocks that differ are no reason to stop counting.
            if let problem, state.mayLoseCommits { return problem }
            guard let memory = try await history.count(in: database, serves: problem == nil && serves()) else {
                return "database_went_backwards"
            }
            keep(memory)
            return problem
        } catch {
            switch error {
            case .outcomeUnknown(.committedLocallyOnly): return "committed_locally_only"
            case .outcomeUnknown: return "unconfirmed"
            case .unavailable(.databaseWentBackwards): return "database_went_backwards"
            case .unavailable, .server, .unexpectedResult: return "unavailable"
            }
        }
    }

    /// A disk that takes nothing stops no login and no probe: until the next start the broker remembers in memory.
    private func keep(_ memory: DatabaseHistory.Memory) {
        file?.write(MemoryFile.Contents(broker: broker, memory: memory)) { [fileChanges] problem in
            fileChanges.note(problem, "the broker cannot write to its state directory")
        }
    }
}

extension CommitProbe: ReadinessCheck, MetricSource {
    var name: String { "database_commits" }
    var help: StaticString {
        """
        The database confirms commits and keeps them: `not_tried_yet`, `unavailable`, `unconfirmed`, `read_only`, \
        `committed_locally_only`, `synchronous_commit_off`, `standby_missing`, `clocks_apart`, `database_went_backwards`.
        """
    }

    func problem() async -> StaticString? { state.withLock { $0.problem } }

    var samples: [MetricSample] {
        [
            .gauge(
                "database_commits_confirmed", "1 if the database confirmed the last probe commit, else 0.",
                state.withLock { $0.problem == nil } ? 1 : 0)
        ]
    }
}

extension CommitProbe {
    /// How old the last confirmed commit may be when a request is refused because of what the database holds.
    private static let oldest: Duration = .seconds(6)

    /// The clocks go on between two probes, so a step of the broker's clock is seen at once, and one of the database's at the next
    /// probe.
    var certainty: Certainty {
        Certainty(
            clocks: { [self] in
                guard let database = state.withLock({ $0.database }) else {
                    return Outage(.database, "clocks_unknown: the database's clock was not read yet")
                }
                let (seconds, attoseconds) = (ContinuousClock.now - database.at).components
                let now = database.milliseconds &+ seconds &* 1000 &+ attoseconds / 1_000_000_000_000_000
                guard DatabaseState.areApart(now, clock.milliseconds) else { return nil }
                return Outage(.database, "clocks_apart: the clocks of broker and database differ by more than 30 s")
            },
            database: { [self] in
                guard let confirmed = state.withLock({ $0.confirmed }), .now - confirmed <= Self.oldest else {
                    return Outage(
                        .database, "the database has confirmed no commit for 6 s, so a refusal may rest on old rows")
                }
                return nil
            })
    }
}

/// The database's state, as it reports it.
struct DatabaseState: Sendable {
    let isReadOnly: Bool
    /// Whether a crash, or a failover to the synchronous standby, may lose confirmed commits.
    let commitsMayBeLost: Bool
    /// Whether a commit of this service waits for a standby that does not answer.
    let waitsForStandby: Bool
    /// The database's clock: milliseconds since 1970-01-01T00:00:00Z.
    let milliseconds: Int64

    var mayLoseCommits: Bool { isReadOnly || commitsMayBeLost || waitsForStandby }

    /// The third column: whether a commit of this service's login has waited for a standby for more than 1 s.
    private static let select = Statement(
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

    static func read(from database: any StatementExecutor) async throws(PostgresError) -> DatabaseState {
        guard let row = try await database.query(select, []).first else { throw .unexpectedResult(column: 0) }
        return DatabaseState(
            isReadOnly: try row.bool(0), commitsMayBeLost: try row.bool(1), waitsForStandby: try row.bool(2),
            milliseconds: try row.int64(3))
    }

    /// In milliseconds. The broker's clock decides on proofs and assertions, the database's on grants.
    static let clockTolerance: Int64 = 30_000

    /// Why the broker must not get requests; `nil`: no problem.
    /// - Parameter now: The broker's clock, milliseconds since 1970.
    func problem(at now: Int64) -> StaticString? {
        if isReadOnly { return "read_only" }
        if commitsMayBeLost { return "synchronous_commit_off" }
        if waitsForStandby { return "standby_missing" }
        return Self.areApart(milliseconds, now) ? "clocks_apart" : nil
    }

    static func areApart(_ one: Int64, _ other: Int64) -> Bool {
        let (distance, overflow) = one.subtractingReportingOverflow(other)
        return overflow || distance.magnitude > clockTolerance.magnitude
    }
}
