/// One thread of a pool: connects, serves the queue, and connects again.
struct PoolWorker {
    let core: PoolCore

    /// An idle connection is looked at this often, so that a dead one is replaced before a call needs it.
    private static let idleCheck = Duration.seconds(5)

    func run() {
        core.search.withConnections(serve)
        core.workerEnded()
    }

    /// Runs jobs until the connection is of no more use, or the pool is closed and its queue empty.
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
        /// None for a while.
        case nothing
        /// And no job is left.
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

    /// It was not sent, so another connection may have it.
    private func putBack(_ job: Job) {
        core.monitor.withLock { $0.jobs.insert(job, at: 0) }
        core.monitor.signal(Waiters.work)
        core.monitor.signal(Waiters.watch)
    }
}

/// One call that waits for a connection, or has one.
struct Job: Sendable {
    let id: UInt64
    /// Until then it may wait for a connection.
    let expires: MonotonicTime
    /// Does the work on the connection's thread, and answers the caller.
    let run: @Sendable (Connection) -> Void
    /// Answers the caller that nothing was done.
    let fail: @Sendable (PostgresError) -> Void
}

/// What the threads of a pool share.
struct PoolState: Sendable {
    var jobs: [Job] = []
    /// Threads that have a connection and wait for a job.
    var idle = 0
    /// Threads that have not ended.
    var workers = 0
    var isClosed = false
    /// Calls that waited in vain or found the queue full.
    var shedTotal = 0
    /// Threads that wait on sockets rather than on the monitor.
    var listeners: [Waker] = []
    /// Callers of `shutdown`.
    var farewells: [CheckedContinuation<Void, Never>] = []
}

/// The groups of threads that wait on a pool's monitor.
enum Waiters {
    /// Workers for jobs.
    static let work = 0
    /// The watch for jobs that expire.
    static let watch = 1
    static let count = 2
}

/// Counters of a pool, for metrics. Totals only ever grow.
public struct PoolStatistics: Sendable, Equatable {
    /// Connections that are established now.
    public var connections = 0
    /// Connections that wait for a call now.
    public var idleConnections = 0
    /// Calls that wait for a connection now.
    public var queueDepth = 0
    /// Connections that were established since the start.
    public var connectsTotal = 0
    /// Attempts that failed since the start, one for each server tried.
    public var connectFailuresTotal = 0
    /// Calls that waited in vain or found the queue full.
    public var shedTotal = 0
}
