import PostgresClient
import Synchronization
import Testing

@testable import Registry

@Suite(.timeLimit(.minutes(1))) struct SemaphoreTests {
    @Test func refusesACallWhenTheQueueIsFull() async {
        let semaphore = Semaphore(width: 1, queue: 1)
        #expect(await semaphore.enter())
        async let second = semaphore.enter()
        while semaphore.waiting == 0 { await Task.yield() }
        #expect(await !semaphore.enter())
        semaphore.leave()
        #expect(await second)
        semaphore.leave()
        #expect(await semaphore.enter())
    }

    @Test func refusesCallsThatWaitedTooLong() async {
        let semaphore = Semaphore(width: 1, queue: 8, patience: .zero)
        #expect(await semaphore.enter())
        async let second = semaphore.enter()
        async let third = semaphore.enter()
        while semaphore.waiting < 2 { await Task.yield() }
        semaphore.leave()
        #expect(await !second)
        #expect(await !third)
        #expect(await semaphore.enter())
    }

    /// A bounded executor leaves connections to others, and a failure leaves its place to the next call.
    @Test(arguments: [false, true]) func noMoreCallsThanItsWidth(fails: Bool) async {
        let database = HeldExecutor(fails: fails)
        let shared = BoundedExecutor(database, atOnce: 2)
        let answered = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<50 {
                group.addTask { (try? await shared.query(Statement("SELECT 1"), [])) != nil }
            }
            while database.calls.now + shared.semaphore.waiting < 50 { await Task.yield() }
            #expect(database.calls.now == 2)
            database.release()
            return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(answered == (fails ? 0 : 50))
        #expect(database.calls.most == 2 && database.calls.all == 50)
    }
}

/// Holds its calls until they are released.
private final class HeldExecutor: StatementExecutor {
    private let inside = Mutex((now: 0, most: 0, all: 0))
    private let isReleased = Atomic(false)
    private let fails: Bool

    var calls: (now: Int, most: Int, all: Int) { inside.withLock { $0 } }

    init(fails: Bool) { self.fails = fails }

    func release() { isReleased.store(true, ordering: .releasing) }

    func query(
        _ statement: Statement, _ parameters: EncodedParameters, locking row: RowKey
    ) async throws(PostgresError) -> [Row] {
        inside.withLock { inside in
            inside.now += 1
            inside.all += 1
            inside.most = max(inside.most, inside.now)
        }
        while !isReleased.load(ordering: .acquiring) { await Task.yield() }
        inside.withLock { $0.now -= 1 }
        if fails { throw .unavailable(.connectFailed) }
        return []
    }
}
