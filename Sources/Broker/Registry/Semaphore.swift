import NativeSSO
package import PostgresClient
import Synchronization

/// A semaphore with a bounded queue. Calls that find the queue full are refused.
final class Semaphore: Sendable {
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

    /// - Parameter patience: Maximum waiting time, checked whenever a call leaves; `nil`: unlimited. The longest wait
    ///   is therefore this time plus the longest stay inside.
    init(width: Int, queue: Int, patience: Duration? = nil) {
        state = Mutex(State(free: max(width, 1)))
        self.queue = queue
        self.patience = patience
    }

    /// - Returns: `false` if the queue was full or the wait too long. After `true`, the caller must call ``leave()``.
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
                // The queue is in order of arrival.
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

    /// Runs the body inside.
    /// - Parameter calls: Names them in the outage of a call that is refused.
    func run<Value: Sendable>(
        _ calls: String, _ body: () async throws(PortError) -> Value
    ) async throws(PortError) -> Value {
        guard await enter() else { throw .outage(Outage(.database, "too many \(calls) at once")) }
        defer { leave() }
        return try await body()
    }

    var waiting: Int { state.withLock { $0.line.count } }
}

/// A concurrency limit on a group of a pool's users. It leaves connections to the other users, if the pool has more
/// than `atOnce`.
///
/// It refuses no call: its users limit their own concurrency, and each has a deadline, so waits are short.
package struct BoundedExecutor: StatementExecutor {
    private let database: any StatementExecutor
    let semaphore: Semaphore

    /// - Parameter atOnce: Maximum concurrent statements; at least one.
    package init(_ database: any StatementExecutor, atOnce: Int) {
        self.database = database
        semaphore = Semaphore(width: atOnce, queue: .max)
    }

    package func query(
        _ statement: Statement, _ parameters: EncodedParameters, locking row: RowKey
    ) async throws(PostgresError) -> [Row] {
        _ = await semaphore.enter()
        defer { semaphore.leave() }
        return try await database.query(statement, parameters, locking: row)
    }
}

/// The same for calls that others can make as many of as they like. A call that finds the queue full, or waits longer than a
/// second, gets an outage and must retry.
struct BoundedDatabase {
    private let database: any StatementExecutor
    private let semaphore: Semaphore
    private let calls: String

    /// - Parameter calls: Names them in an outage.
    init(_ database: any StatementExecutor, atOnce: Int, waiting: Int = 64, of calls: String) {
        self.database = database
        semaphore = Semaphore(width: atOnce, queue: waiting, patience: .seconds(1))
        self.calls = calls
    }

    func query(_ statement: Statement, _ parameters: EncodedParameters) async throws(PortError) -> [Row] {
        try await semaphore.run(calls) { () async throws(PortError) in
            try await PortError.database { () async throws(PostgresError) in
                try await database.query(statement, parameters, locking: .none)
            }
        }
    }
}
