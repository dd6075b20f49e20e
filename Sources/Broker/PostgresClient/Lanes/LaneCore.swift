import Synchronization

/// The queue and threads of lanes, or of a pool, whose lanes run one call at a time. Lives until the last thread ends.
final class LaneCore<Call: QueuedCall>: Sendable {
    let configuration: PostgresConfiguration
    let lanes: LaneConfiguration
    let search: ServerSearch
    let counters = Mutex(LaneStatistics())
    private let monitor: Monitor<LaneState<Call>>
    /// Interval of the check for expired calls.
    private let tick: Duration

    init(
        _ configuration: PostgresConfiguration, _ lanes: LaneConfiguration, history: DatabaseHistory?,
        onEvent: @escaping @Sendable (ConnectionEvent) -> Void
    ) {
        self.configuration = configuration
        self.lanes = lanes
        monitor = Monitor(LaneState(lanes), conditions: Waiters.count)
        search = ServerSearch(configuration, history: history, onEvent: onEvent)
        tick = max(.milliseconds(5), min(.milliseconds(50), configuration.queueWait / 8))
    }

    /// Starts the lanes, each one a thread with one connection.
    ///
    /// - Parameter run: Runs a batch and answers all its calls.
    func start(_ run: @escaping @Sendable ([Call], Connection) -> Void) {
        let connectsAll = MonotonicTime.after(configuration.warmUp)
        for lane in 0..<max(lanes.lanes, 1) {
            monitor.withLock { $0.threads += 1 }
            let isStarted = OwnThread.start { [self] in
                waitForNeed(until: connectsAll)
                search.withConnections { serve($0, on: lane, run) }
                threadEnded()
            }
            if !isStarted { threadEnded() }
        }
        _ = OwnThread.start { [self] in watch() }
    }

    var statistics: LaneStatistics {
        var statistics = counters.withLock { $0 }
        statistics.connections = search.statistics
        (statistics.idleLanes, statistics.queueDepth) = monitor.withLock { ($0.turns.idle, $0.queues.count) }
        return statistics
    }

    // MARK: Calls

    func submit(_ call: Call) {
        let outcome = monitor.withLock { state -> (refusal: PostgresError.Reason?, called: Int?, wakesWatch: Bool) in
            if state.isClosed || state.threads == 0 { return (.shuttingDown, nil, false) }
            // A call for an idle lane does not count as waiting.
            guard state.queues.append(call, limit: lanes.queueLimit + state.turns.idle) else {
                return (.queueFull, nil, false)
            }
            defer { (state.isWatched, state.hasNews) = (true, true) }
            return (nil, state.callsLane(), !state.isWatched)
        }
        if let refusal = outcome.refusal {
            if refusal == .queueFull { counters.withLock { $0.shedTotal += 1 } }
            return call.fail(.unavailable(refusal))
        }
        if let called = outcome.called { monitor.signal(called) }
        if outcome.wakesWatch { monitor.signal(Waiters.watch) }
    }

    /// Removes a call that is still queued. A call in flight runs to its end.
    func withdraw(where isWithdrawn: (Call) -> Bool) {
        let withdrawn = monitor.withLock { state in state.queues.removeAll(where: isWithdrawn) }
        for call in withdrawn { call.fail(.unavailable(.cancelledWhileQueued)) }
    }

    /// Returns unsent calls to the queue, for another connection.
    func putBack(_ calls: [Call]) {
        let called = monitor.withLock { state in
            state.queues.putBack(calls)
            (state.isWatched, state.hasNews) = (true, true)
            return state.callsLane()
        }
        if let called { monitor.signal(called) }
        // The watch thread may sleep because it saw an empty queue, and these calls may expire before a lane has a
        // connection.
        monitor.signal(Waiters.watch)
    }

    // MARK: Lanes

    /// Blocks a new lane until calls wait and no other lane is idle or connects. A connection costs milliseconds of
    /// processor time (SCRAM): a program that has just started needs the first one soon, and not all of them at once.
    private func waitForNeed(until connectsAll: MonotonicTime) {
        monitor.wait(on: Waiters.need) { state -> Monitor<LaneState<Call>>.Attempt<Void> in
            if state.needsLane {
                state.isConnecting = true
            } else if !state.isClosed, !connectsAll.hasPassed {
                return .wait(until: connectsAll)
            }
            state.unconnected -= 1
            return .done(())
        }
    }

    /// Runs batches until the connection is unusable, or the core is closed and its queue is empty.
    private func serve(_ connection: Connection, on lane: Int, _ run: ([Call], Connection) -> Void) {
        defer { pause(lane) }
        monitor.withLock { $0.isConnecting = false }
        var batch: [Call] = []
        while connection.isUsable {
            // Checks an idle connection from time to time: a dead one is replaced before a call needs it.
            switch next(&batch, on: lane, until: .after(.seconds(5))) {
            case .nothing: if connection.isStale() { return }
            case .closed: return
            case .batch:
                guard !connection.isStale() else { return putBack(batch) }
                run(batch, connection)
                batch.removeAll(keepingCapacity: true)
            }
        }
    }

    private enum Next {
        case batch
        /// No call within the given time.
        case nothing
        /// Closed, and no calls are left.
        case closed
    }

    /// Waits for calls and for the lane's turn, and moves the calls to `batch`, which must be empty. The lane's
    /// previous batch must be finished.
    private func next(_ batch: inout [Call], on lane: Int, until look: MonotonicTime) -> Next {
        var waited: LaneTurns.Wait?
        let (next, called) = monitor.wait(on: Waiters.work) {
            state -> Monitor<LaneState<Call>>.Attempt<(Next, called: Int?)> in
            if let waited { state.turns.leave(waited) }
            state.turns.endBatch(lane)
            waited = nil
            if state.queues.isEmpty && state.isClosed { return .done((.closed, nil)) }
            let now = MonotonicTime.now
            let turn = state.isClosed ? nil : state.turns.turn(queued: state.queues.count)
            if !state.queues.isEmpty, turn.map({ $0 <= now }) ?? true {
                state.queues.take(max(lanes.maxBatch, 1), into: &batch)
                state.turns.beginBatch(lane, at: now)
                return .done((.batch, state.callsLane()))
            }
            guard now < look else { return .done((.nothing, nil)) }
            let wait: LaneTurns.Wait = state.queues.isEmpty ? .forCalls : .forOthers
            state.turns.enter(wait)
            waited = wait
            return .wait(until: wait == .forOthers ? min(look, turn ?? look) : look)
        }
        if let called { monitor.signal(called) }
        return next
    }

    /// The lane has lost its connection and has no batch in flight.
    private func pause(_ lane: Int) {
        let called = monitor.withLock { state in
            state.turns.endBatch(lane)
            return state.callsLane()
        }
        if let called { monitor.signal(called) }
    }

    // MARK: Threads

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

    /// Closes, and waits until all threads have ended.
    func shutdown() async {
        close()
        await withCheckedContinuation { caller in
            let hasEnded = monitor.withLock { state in
                if state.threads > 0 { state.farewells.append(caller) }
                return state.threads == 0
            }
            if hasEnded { caller.resume() }
        }
    }

    /// Starts a thread that waits on a socket and not for calls. It counts as a thread of the core until it calls
    /// ``threadEnded(_:)``. False if the core is closed or the system cannot create a thread.
    func startListener(_ waker: Waker, _ run: @escaping @Sendable () -> Void) -> Bool {
        let isOpen = monitor.withLock { state in
            guard !state.isClosed else { return false }
            state.threads += 1
            state.listeners.append(waker)
            return true
        }
        guard isOpen else { return false }
        let isStarted = OwnThread.start(run)
        if !isStarted { threadEnded(waker) }
        return isStarted
    }

    /// The last thread fails the remaining calls and resumes the callers of `shutdown`.
    func threadEnded(_ listener: Waker? = nil) {
        let (abandoned, farewells) = monitor.withLock { state in
            state.listeners.removeAll { $0 === listener }
            state.threads -= 1
            guard state.threads == 0 else { return ([Call](), [CheckedContinuation<Void, Never>]()) }
            defer { state.farewells = [] }
            return (state.queues.removeAll { _ in true }, state.farewells)
        }
        for call in abandoned { call.fail(.unavailable(.shuttingDown)) }
        for farewell in farewells { farewell.resume() }
        monitor.broadcast(Waiters.watch)
    }

    /// Fails expired calls, because every lane may be busy or without a server. Sleeps while the queue is empty, so
    /// that most calls need not wake it.
    private func watch() {
        while true {
            let expired = monitor.wait(on: Waiters.watch) { state -> Monitor<LaneState<Call>>.Attempt<[Call]?> in
                if state.isClosed && state.threads == 0 { return .done(nil) }
                let now = MonotonicTime.now
                let expired = state.queues.removeAll { $0.expires <= now }
                guard expired.isEmpty else { return .done(expired) }
                state.isWatched = state.hasNews || !state.queues.isEmpty
                state.hasNews = false
                return .wait(until: state.isWatched ? now.advanced(by: tick) : nil)
            }
            guard let expired else { return }
            shed(expired)
        }
    }

    func shed(_ calls: [Call]) {
        counters.withLock { $0.shedTotal += calls.count }
        let reason = search.reasonForWaiting
        for call in calls { call.fail(.unavailable(reason)) }
    }
}

private struct LaneState<Call: QueuedCall>: Sendable {
    var queues = CallQueues<Call>()
    var turns: LaneTurns
    var threads = 0
    /// Lanes that wait until they are needed; and whether one of them connects now.
    var unconnected: Int, isConnecting = false
    var isClosed = false
    /// The watch thread checks the queue periodically; and a call was queued since its last check.
    var isWatched = false, hasNews = false
    /// Threads that wait on sockets instead of the monitor.
    var listeners: [Waker] = []
    /// Pending calls of `shutdown`.
    var farewells: [CheckedContinuation<Void, Never>] = []

    init(_ lanes: LaneConfiguration) { (turns, unconnected) = (LaneTurns(lanes), max(lanes.lanes, 1)) }

    var needsLane: Bool { unconnected > 0 && !isConnecting && turns.idle == 0 && !queues.isEmpty }

    /// The group to signal, from which the queued calls need a lane: one that is idle, or one without a connection.
    mutating func callsLane() -> Int? {
        if turns.call(queued: queues.count) { return Waiters.work }
        return needsLane ? Waiters.need : nil
    }
}

/// The groups of waiters on the monitor.
private enum Waiters {
    /// Lanes that wait for calls.
    static let work = 0
    /// The thread that expires calls.
    static let watch = 1
    /// Lanes that connect when they are needed.
    static let need = 2
    static let count = 3
}
