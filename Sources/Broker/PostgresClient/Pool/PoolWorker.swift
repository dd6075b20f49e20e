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
