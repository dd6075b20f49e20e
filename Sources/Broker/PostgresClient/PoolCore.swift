/// The pool's queue and threads. Lives until the last thread ends.
final class PoolCore: Sendable {
    let configuration: PostgresConfiguration
    let search: ServerSearch
    let monitor = Monitor(PoolState(), conditions: Waiters.count)

    init(
        _ configuration: PostgresConfiguration, history: DatabaseHistory,
        onEvent: @escaping @Sendable (ConnectionEvent) -> Void
    ) {
        self.configuration = configuration
        search = ServerSearch(configuration, history: history, onEvent: onEvent)
    }

    func start() {
        for _ in 0..<max(configuration.poolSize, 1) {
            monitor.withLock { $0.workers += 1 }
            if !OwnThread.start({ [self] in PoolWorker(core: self).run() }) { workerEnded() }
        }
        _ = OwnThread.start { [self] in watch() }
    }

    var statistics: PoolStatistics {
        let connections = search.statistics
        return monitor.withLock { state in
            PoolStatistics(
                connections: connections.connections, idleConnections: state.idle, queueDepth: state.jobs.count,
                connectsTotal: connections.connectsTotal, connectFailuresTotal: connections.connectFailuresTotal,
                shedTotal: state.shedTotal)
        }
    }

    // MARK: Calls

    func submit(_ job: Job) {
        let refusal = monitor.withLock { state -> PostgresError? in
            if state.isClosed || state.workers == 0 { return .unavailable(.shuttingDown) }
            // A job for an idle thread does not count as waiting.
            if state.jobs.count >= configuration.queueLimit + state.idle {
                state.shedTotal += 1
                return .unavailable(.queueFull)
            }
            state.jobs.append(job)
            return nil
        }
        if let refusal { return job.fail(refusal) }
        monitor.signal(Waiters.work)
        monitor.signal(Waiters.watch)
    }

    /// Removes a job that is still queued. A job in flight runs to its end.
    func withdraw(_ id: UInt64) {
        let job = monitor.withLock { state in
            state.jobs.firstIndex { $0.id == id }.map { state.jobs.remove(at: $0) }
        }
        job?.fail(.unavailable(.cancelledWhileQueued))
    }

    func close() {
        search.close()
        let listeners = monitor.withLock { state in
            state.isClosed = true
            defer { state.listeners = [] }
            return state.listeners
        }
        for listener in listeners { listener.wake() }
        for group in 0..<Waiters.count { monitor.broadcast(group) }
    }

    func whenEnded(_ continuation: CheckedContinuation<Void, Never>) {
        let hasEnded = monitor.withLock { state in
            if state.workers > 0 { state.farewells.append(continuation) }
            return state.workers == 0
        }
        if hasEnded { continuation.resume() }
    }

    // MARK: Threads

    /// A listener counts as a thread of the pool until it ends.
    func startListener(_ listener: Listener) {
        let isOpen = monitor.withLock { state in
            guard !state.isClosed else { return false }
            state.workers += 1
            state.listeners.append(listener.waker)
            return true
        }
        guard isOpen else { return listener.continuation.finish() }
        if !OwnThread.start({ listener.run() }) {
            listener.continuation.finish()
            workerEnded(listener.waker)
        }
    }

    /// The last thread fails the remaining jobs and resumes the callers of `shutdown`.
    func workerEnded(_ waker: Waker? = nil) {
        let (abandoned, farewells) = monitor.withLock { state in
            state.listeners.removeAll { $0 === waker }
            state.workers -= 1
            guard state.workers == 0 else { return ([Job](), [CheckedContinuation<Void, Never>]()) }
            defer { (state.jobs, state.farewells) = ([], []) }
            return (state.jobs, state.farewells)
        }
        for job in abandoned { job.fail(.unavailable(.shuttingDown)) }
        for farewell in farewells { farewell.resume() }
        monitor.broadcast(Waiters.watch)
    }

    /// Fails expired jobs, because every worker may be busy or without a server.
    private func watch() {
        while true {
            let expired = monitor.wait(on: Waiters.watch) { state -> Monitor<PoolState>.Attempt<Job?> in
                if state.isClosed && state.workers == 0 { return .done(nil) }
                guard let next = state.jobs.indices.min(by: { state.jobs[$0].expires < state.jobs[$1].expires }) else {
                    return .wait(until: nil)
                }
                guard state.jobs[next].expires.hasPassed else { return .wait(until: state.jobs[next].expires) }
                state.shedTotal += 1
                return .done(state.jobs.remove(at: next))
            }
            guard let expired else { return }
            expired.fail(.unavailable(search.reasonForWaiting))
        }
    }
}
