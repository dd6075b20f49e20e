import Synchronization

/// Reads for requests that may know of something newer than this process: each gets a read that began after it asked.
///
/// Those that wait share the next read. Reads never overlap, so an older one replaces nothing newer. They keep within a rate,
/// whatever callers invent.
package final class SharedReads<Answer: Sendable>: Sendable {
    package enum Refusal: Error {
        /// Too many wait already.
        case crowded
        /// The read takes longer than the caller waits.
        case slow
        /// The rate leaves no room before this time has passed.
        case noRoom(for: Duration)
    }

    private struct State {
        /// The read that has not begun yet.
        var next: Task<Answer, Never>?
        /// The last one that began.
        var last: Task<Answer, Never>?
        var waiting = 0
        /// When the rate has all its room again.
        var full: Duration = .zero
    }

    /// How many may wait.
    private static var longestQueue: Int { 256 }

    private let burst: Int
    private let interval: Duration
    private let longestWait: Duration
    private let time: ElapsedTime
    private let state = Mutex(State())

    /// - Parameters:
    ///   - burst: How many reads may begin at once, after a pause.
    ///   - interval: Then one more begins in each.
    ///   - longestWait: Without room for that long, a read is refused.
    package init<C: Clock>(
        burst: Int, interval: Duration, longestWait: Duration, clock: C
    ) where C.Duration == Duration {
        self.burst = burst
        self.interval = interval
        self.longestWait = longestWait
        time = ElapsedTime(by: clock)
    }

    /// How many wait.
    package var waiting: Int { state.withLock { $0.waiting } }

    /// The answer of a read that began after this call.
    /// - Parameters:
    ///   - limit: How long the caller waits; `nil`: until the read has ended.
    ///   - body: One read. All callers give the same.
    package func read(
        within limit: Duration? = nil, _ body: @escaping @Sendable () async -> Answer
    ) async throws(Refusal) -> Answer {
        let task = try state.withLock { state throws(Refusal) -> Task<Answer, Never> in
            guard state.waiting < Self.longestQueue else { throw .crowded }
            let task: Task<Answer, Never>
            if let next = state.next { task = next } else { task = try plan(body, &state) }
            state.waiting += 1
            return task
        }
        defer { state.withLock { $0.waiting -= 1 } }
        guard let limit else { return await task.value }
        let (answers, given) = AsyncStream.makeStream(of: Answer.self)
        Task { given.yield(await task.value) }
        let timer = Task {
            try await time.sleep(for: limit)
            given.finish()
        }
        defer { timer.cancel() }
        for await answer in answers { return answer }
        throw .slow
    }

    private func plan(
        _ body: @escaping @Sendable () async -> Answer, _ state: inout State
    ) throws(Refusal) -> Task<Answer, Never> {
        let now = time.now
        let full = max(state.full, now)
        let wait = max(full - interval * (burst - 1) - now, .zero)
        guard wait <= longestWait else { throw .noRoom(for: wait) }
        state.full = full + interval
        let task = Task { [last = state.last] in
            _ = await last?.value
            if wait > .zero { try? await time.sleep(for: wait) }
            self.state.withLock { ($0.last, $0.next) = ($0.next, nil) }
            return await body()
        }
        state.next = task
        return task
    }
}

extension Outage {
    /// No read answered a request with a key that is unknown here.
    package init<Answer>(_ component: Component, _ refusal: SharedReads<Answer>.Refusal, unknown what: String) {
        switch refusal {
        case .crowded: self.init(component, "\(what) is not known yet, and too many wait for it", isUndecided: true)
        case .slow: self.init(component, "\(what) is not known yet, and the look takes too long", isUndecided: true)
        case .noRoom(let wait):
            self.init(
                component, "\(what) is not known yet, and was looked for too often", isUndecided: true,
                // Another read may bring the key sooner, and a kept answer to a code does not wait for ever.
                retryAfter: Seconds(min(wait.components.seconds + 1, 10)))
        }
    }
}
