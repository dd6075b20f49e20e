public import PostgresClient
import Synchronization

/// Lets so many in at a time; others wait in line, up to a bound, and the rest are turned away.
final class Turnstile: Sendable {
    private struct Waiter {
        let continuation: CheckedContinuation<Bool, Never>
        let since: ContinuousClock.Instant
    }

    private struct State {
        var free: Int
        var line: [Waiter] = []
    }

    private let state: Mutex<State>
    private let queue: Int
    private let patience: Duration?

    /// - Parameter patience: Whoever has waited for longer when somebody leaves is turned away; `nil`: nobody is. So the longest
    ///   wait is this and the longest stay inside.
    init(width: Int, queue: Int, patience: Duration? = nil) {
        state = Mutex(State(free: max(width, 1)))
        self.queue = queue
        self.patience = patience
    }

    /// - Returns: `false` where the line is full, or was too slow; otherwise the caller is in, and must ``leave()``.
    func enter() async -> Bool {
        await withCheckedContinuation { continuation in
            let isIn = state.withLock { state -> Bool? in
                if state.free > 0 {
                    state.free -= 1
                    return true
                }
                guard state.line.count < queue else { return false }
                state.line.append(Waiter(continuation: continuation, since: .now))
                return nil
            }
            if let isIn { continuation.resume(returning: isIn) }
        }
    }

    func leave() {
        let now = ContinuousClock.now
        let (turnedAway, next) = state.withLock { state -> ([Waiter], Waiter?) in
            var turnedAway: [Waiter] = []
            if let patience {
                // The line is in the order in which they came.
                turnedAway = Array(state.line.prefix { $0.since.duration(to: now) > patience })
                state.line.removeFirst(turnedAway.count)
            }
            guard !state.line.isEmpty else {
                state.free += 1
                return (turnedAway, nil)
            }
            return (turnedAway, state.line.removeFirst())
        }
        for waiter in turnedAway { waiter.continuation.resume(returning: false) }
        next?.continuation.resume(returning: true)
    }

    /// How many wait in line.
    var waiting: Int { state.withLock { $0.line.count } }
}

/// A part of a pool, for those who share it: however many of their statements are to be run, connections are left for the pool's
/// other users, if it has more than this part.
///
/// Nobody is turned away here. Those who share it let in only so many themselves, each with a deadline, and so nobody waits long.
public struct BoundedExecutor: StatementExecutor {
    private let database: any StatementExecutor
    private let turnstile: Turnstile

    /// - Parameter atOnce: Statements at one time; at least one.
    public init(_ database: any StatementExecutor, atOnce: Int) {
        self.database = database
        turnstile = Turnstile(width: atOnce, queue: .max)
    }

    public func query(_ statement: Statement, _ parameters: [PostgresValue]) async throws(PostgresError) -> [Row] {
        _ = await turnstile.enter()
        defer { turnstile.leave() }
        return try await database.query(statement, parameters)
    }
}
