import Synchronization

/// The lanes' queue and threads. Lives until the last thread ends.
final class LaneCore: Sendable {
    let configuration: PostgresConfiguration
    let lanes: LaneConfiguration
    let search: ServerSearch
    /// One connection for calls that must wait for a lock or be retried.
    let aside: PoolCore
    let counters = LaneCounters()
    private let monitor: Monitor<LaneState>
    /// The groups of waiters on the monitor: lanes that wait for calls, and the thread that expires calls.
    private static let work = 0, watch = 1
    /// Interval of the check for expired calls.
    private let tick: Duration

    private struct LaneState: Sendable {
        var queues = CallQueues()
        var turns: LaneTurns
        /// Running threads.
        var threads = 0
        var isClosed = false
        /// The watch thread checks the queue periodically; and a call was queued since its last check.
        var isWatched = false, hasNews = false
        var shedTotal = 0
        /// Pending calls of `shutdown`.
        var farewells: [CheckedContinuation<Void, Never>] = []

        init(_ lanes: LaneConfiguration) { turns = LaneTurns(lanes) }

        mutating func callsLane() -> Bool { turns.call(queued: queues.count) }
    }

    init(
        _ configuration: PostgresConfiguration, _ lanes: LaneConfiguration, history: DatabaseHistory,
        onEvent: @escaping @Sendable (ConnectionEvent) -> Void
    ) {
        self.configuration = configuration
        self.lanes = lanes
        monitor = Monitor(LaneState(lanes), conditions: 2)
        var sessions = configuration
        sessions.lockTimeout = min(lanes.batchLockTimeout, configuration.lockTimeout)
        search = ServerSearch(sessions, history: history, onEvent: onEvent)
        var single = configuration
        single.poolSize = 1
        single.callsPerConnection = 64
        aside = PoolCore(single, history: history, onEvent: onEvent)
        tick = max(.milliseconds(5), min(.milliseconds(50), configuration.queueWait / 8))
    }

    func start() {
        for lane in 0..<max(lanes.lanes, 1) {
            monitor.withLock { $0.threads += 1 }
            if !OwnThread.start({ [self] in Lane(core: self, number: lane).run() }) { laneEnded() }
        }
        _ = OwnThread.start { [self] in watch() }
        aside.start()
    }

    var statistics: LaneStatistics {
        let connections = search.statistics, shedAside = aside.statistics.shedTotal
        return monitor.withLock { state in
            LaneStatistics(
                connections: connections, idleLanes: state.turns.idle, queueDepth: state.queues.count,
                shedTotal: state.shedTotal + shedAside, batchesTotal: counters.batches.load(ordering: .relaxed),
                callsTotal: counters.calls.load(ordering: .relaxed),
                gatheredCallsTotal: counters.gatheredCalls.load(ordering: .relaxed),
                failedBatchesTotal: counters.failedBatches.load(ordering: .relaxed),
                repeatedCallsTotal: counters.repeatedCalls.load(ordering: .relaxed),
                callsAsideTotal: counters.callsAside.load(ordering: .relaxed))
        }
    }

    // MARK: Calls

    func submit(_ call: LaneCall) {
        let outcome = monitor.withLock { state -> (refusal: PostgresError.Reason?, wakesLane: Bool, wakesWatch: Bool) in
            if state.isClosed || state.threads == 0 { return (.shuttingDown, false, false) }
            guard state.queues.append(call, limit: lanes.queueLimit) else {
                state.shedTotal += 1
                return (.queueFull, false, false)
            }
            defer { (state.isWatched, state.hasNews) = (true, true) }
            return (nil, state.callsLane(), !state.isWatched)
        }
        if let refusal = outcome.refusal { return call.fail(.unavailable(refusal)) }
        if outcome.wakesLane { monitor.signal(Self.work) }
        if outcome.wakesWatch { monitor.signal(Self.watch) }
    }

    /// Removes a call that is still queued. A call in flight runs to its end.
    func withdraw(_ call: LaneCall) {
        let withdrawn = monitor.withLock { state in state.queues.removeAll { $0 === call } }
        for call in withdrawn { call.fail(.unavailable(.cancelledWhileQueued)) }
    }

    /// Returns unsent calls to the queue, for another connection.
    func putBack(_ calls: [LaneCall]) {
        let callsLane = monitor.withLock { state in
            state.queues.putBack(calls)
            (state.isWatched, state.hasNews) = (true, true)
            return state.callsLane()
        }
        if callsLane { monitor.signal(Self.work) }
        // The watch thread may sleep because it saw an empty queue, and these calls may expire before a lane has a
        // connection.
        monitor.signal(Self.watch)
    }

    /// Runs a call on its own, with the full `lockTimeout`: it delays no other call.
    func runAside(_ call: LaneCall) {
        counters.callsAside.wrappingAdd(1, ordering: .relaxed)
        aside.submit(
            Job(
                id: 0, expires: min(call.deadline, .after(configuration.queueWait)),
                run: { connection in
                    do throws(PostgresError) {
                        call.answer(
                            .success(
                                try connection.executeRetrying(
                                    call.statement, call.parameters, deadline: call.deadline)))
                    } catch {
                        call.fail(error)
                    }
                },
                fail: { call.fail($0) }))
    }

    enum Next {
        case batch
        /// No call within the given time.
        case nothing
        /// Closed, and no calls are left.
        case closed
    }

    /// Waits for calls and for the lane's turn, and moves the calls to `batch`, which must be empty. The lane's
    /// previous batch must be finished.
    func next(_ batch: inout [LaneCall], on lane: Int, until look: MonotonicTime) -> Next {
        var waited: LaneTurns.Wait?
        let (next, callsAnother) = monitor.wait(on: Self.work) {
            state -> Monitor<LaneState>.Attempt<(Next, callsAnother: Bool)> in
            if let waited { state.turns.leave(waited) }
            state.turns.endBatch(lane)
            waited = nil
            if state.queues.isEmpty && state.isClosed { return .done((.closed, false)) }
            let now = MonotonicTime.now
            let turn = state.isClosed ? nil : state.turns.turn(queued: state.queues.count)
            if !state.queues.isEmpty, turn.map({ $0 <= now }) ?? true {
                state.queues.take(max(lanes.maxBatch, 1), into: &batch)
                state.turns.beginBatch(lane, at: now)
                return .done((.batch, state.callsLane()))
            }
            guard now < look else { return .done((.nothing, false)) }
            let wait: LaneTurns.Wait = state.queues.isEmpty ? .forCalls : .forOthers
            state.turns.enter(wait)
            waited = wait
            return .wait(until: wait == .forOthers ? min(look, turn ?? look) : look)
        }
        if callsAnother { monitor.signal(Self.work) }
        return next
    }

    /// The lane has lost its connection and has no batch in flight.
    func pause(_ lane: Int) {
        let callsLane = monitor.withLock { state in
            state.turns.endBatch(lane)
            return state.callsLane()
        }
        if callsLane { monitor.signal(Self.work) }
    }

    // MARK: Threads

    func close() {
        search.close()
        monitor.withLock { $0.isClosed = true }
        monitor.broadcast(Self.work)
        monitor.broadcast(Self.watch)
    }

    func whenEnded(_ continuation: CheckedContinuation<Void, Never>) {
        let hasEnded = monitor.withLock { state in
            if state.threads > 0 { state.farewells.append(continuation) }
            return state.threads == 0
        }
        if hasEnded { continuation.resume() }
    }

    /// The last thread fails the remaining calls and resumes the callers of `shutdown`.
    func laneEnded() {
        let (abandoned, farewells) = monitor.withLock { state in
            state.threads -= 1
            guard state.threads == 0 else { return ([LaneCall](), [CheckedContinuation<Void, Never>]()) }
            defer { state.farewells = [] }
            return (state.queues.removeAll { _ in true }, state.farewells)
        }
        for call in abandoned { call.fail(.unavailable(.shuttingDown)) }
        for farewell in farewells { farewell.resume() }
        monitor.broadcast(Self.watch)
    }

    /// Fails expired calls, because every lane may be busy or without a server. Sleeps while the queue is empty, so
    /// that most calls need not wake it.
    private func watch() {
        while true {
            let expired = monitor.wait(on: Self.watch) { state -> Monitor<LaneState>.Attempt<[LaneCall]?> in
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

    func shed(_ calls: [LaneCall]) {
        monitor.withLock { $0.shedTotal += calls.count }
        let reason = search.reasonForWaiting
        for call in calls { call.fail(.unavailable(reason)) }
    }
}

/// Updated by the lanes, once per batch.
struct LaneCounters: ~Copyable, Sendable {
    let batches = Atomic<Int>(0), calls = Atomic<Int>(0), gatheredCalls = Atomic<Int>(0)
    let failedBatches = Atomic<Int>(0), repeatedCalls = Atomic<Int>(0), callsAside = Atomic<Int>(0)
}
