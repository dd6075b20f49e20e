import Synchronization

/// Lets so many in at a time; others wait in line, up to a bound, and the rest are turned away.
final class Turnstile: Sendable {
    private struct State {
        var free: Int
        var line: [CheckedContinuation<Bool, Never>] = []
    }

    private let state: Mutex<State>
    private let queue: Int

    init(width: Int, queue: Int) {
        state = Mutex(State(free: max(width, 1)))
        self.queue = queue
    }

    /// - Returns: `false` where the line is full; otherwise the caller is in, and must ``leave()``.
    func enter() async -> Bool {
        await withCheckedContinuation { continuation in
            let isIn = state.withLock { state -> Bool? in
                if state.free > 0 {
                    state.free -= 1
                    return true
                }
                guard state.line.count < queue else { return false }
                state.line.append(continuation)
                return nil
            }
            if let isIn { continuation.resume(returning: isIn) }
        }
    }

    func leave() {
        let next = state.withLock { state -> CheckedContinuation<Bool, Never>? in
            guard !state.line.isEmpty else {
                state.free += 1
                return nil
            }
            return state.line.removeFirst()
        }
        next?.resume(returning: true)
    }

    /// How many wait in line.
    var waiting: Int { state.withLock { $0.line.count } }
}
