/// One thread of a pool: connects, serves the queue, and reconnects.
struct PoolWorker {
    let core: PoolCore

    /// Interval for checking an idle connection: a dead one is replaced before a call needs it.
    private static let idleCheck = Duration.seconds(5)

    func run() {
        core.search.withConnections(serve)
        core.workerEnded()
    }

    /// Runs jobs until the connection is unusable, or the pool is closed and its queue is empty.
    private func serve(_ connection: Connection) {
        while connection.isUsable {
            switch next() {
            case .nothing: if connection.isStale() { return }
            case .closed: return
            case .job(let job):
                guard !connection.isStale() else { return putBack(job) }
                job.run(connection)
            }
        }
    }

    private enum Next {
        case job(Job)
        /// No job within the given time.
        case nothing
        /// Closed, and no jobs are left.
        case closed
    }

    private func next() -> Next {
        let look = MonotonicTime.after(Self.idleCheck)
        var isCounted = false
        return core.monitor.wait(on: Waiters.work) { state -> Monitor<PoolState>.Attempt<Next> in
            if state.jobs.isEmpty && !state.isClosed && !look.hasPassed {
                if !isCounted { state.idle += 1 }
                isCounted = true
                return .wait(until: look)
            }
            if isCounted { state.idle -= 1 }
            if !state.jobs.isEmpty { return .done(.job(state.jobs.removeFirst())) }
            return .done(state.isClosed ? .closed : .nothing)
        }
    }

    /// Returns an unsent job to the queue, for another connection.
    private func putBack(_ job: Job) {
        core.monitor.withLock { $0.jobs.insert(job, at: 0) }
        core.monitor.signal(Waiters.work)
        core.monitor.signal(Waiters.watch)
    }
}

/// One call that is queued or running.
struct Job: Sendable {
    let id: UInt64
    /// The job may wait for a connection until then.
    let expires: MonotonicTime
    /// Does the work on the connection's thread and answers the caller.
    let run: @Sendable (Connection) -> Void
    /// Answers the caller without doing the work.
    let fail: @Sendable (PostgresError) -> Void
}

struct PoolState: Sendable {
    var jobs: [Job] = []
    /// Threads with a connection that wait for a job.
    var idle = 0
    /// Running threads.
    var workers = 0
    var isClosed = false
    /// Calls that timed out in the queue or found it full.
    var shedTotal = 0
    /// Threads that wait on sockets instead of the monitor.
    var listeners: [Waker] = []
    /// Pending calls of `shutdown`.
    var farewells: [CheckedContinuation<Void, Never>] = []
}

/// The groups of waiters on a pool's monitor.
enum Waiters {
    /// Workers that wait for jobs.
    static let work = 0
    /// The thread that expires jobs.
    static let watch = 1
    static let count = 2
}

/// Counters of a pool, for metrics. Names with `Total` only increase.
package struct PoolStatistics: Sendable, Equatable {
    /// Currently open connections.
    package var connections = 0
    /// Connections that currently wait for a call.
    package var idleConnections = 0
    /// Calls that currently wait for a connection.
    package var queueDepth = 0
    /// Connections opened since the start.
    package var connectsTotal = 0
    /// Failed attempts since the start, one per server tried.
    package var connectFailuresTotal = 0
    /// Calls that timed out in the queue or found it full.
    package var shedTotal = 0
}
