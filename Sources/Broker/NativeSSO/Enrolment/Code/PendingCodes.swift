import Synchronization

/// What is being done for codes, whoever waits for it: counted, so that a broker that stops can let it come to its end.
public final class PendingCodes: Sendable {
    private struct State {
        var count = 0
        var waiting: [AsyncStream<Void>.Continuation] = []
    }

    private let state = Mutex(State())

    public init() {}

    /// Goes on to its end whatever becomes of the caller.
    @discardableResult
    func run<Value: Sendable>(_ work: @escaping @Sendable () async -> Value) -> Task<Value, Never> {
        state.withLock { $0.count += 1 }
        return Task {
            defer { end() }
            return await work()
        }
    }

    var count: Int { state.withLock { $0.count } }

    /// Returns when nothing is being done, or the caller is cancelled.
    public func finished() async {
        let (end, waiter) = AsyncStream.makeStream(of: Void.self)
        state.withLock { state in
            if state.count > 0 { state.waiting.append(waiter) } else { waiter.finish() }
        }
        for await _ in end {}
    }

    private func end() {
        let waiting = state.withLock { state -> [AsyncStream<Void>.Continuation] in
            state.count -= 1
            guard state.count == 0 else { return [] }
            defer { state.waiting = [] }
            return state.waiting
        }
        for waiter in waiting { waiter.finish() }
    }
}
