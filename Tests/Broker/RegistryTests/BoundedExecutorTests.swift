import PostgresClient
import Synchronization
import Testing

@testable import Registry

@Suite(.timeLimit(.minutes(1))) struct BoundedExecutorTests {
    @Test func whatSharesItLeavesConnectionsToOthers() async throws {
        let database = CountingExecutor()
        let shared = BoundedExecutor(database, atOnce: 2)
        let outcomes = await withTaskGroup { group in
            for _ in 0..<50 {
                group.addTask { try? await shared.query(Statement("SELECT 1"), []).count }
            }
            return await group.reduce(into: [Int?]()) { $0.append($1) }
        }
        #expect(outcomes.count == 50 && outcomes.allSatisfy { $0 == 0 })
        #expect(database.most == 2)
    }

    @Test func aFailureLeavesItsPlaceToTheNext() async {
        let database = CountingExecutor(fails: true)
        let shared = BoundedExecutor(database, atOnce: 1)
        for _ in 0..<3 {
            await #expect(throws: PostgresError.self) { try await shared.query(Statement("SELECT 1"), []) }
        }
    }
}

private final class CountingExecutor: StatementExecutor {
    private let inside = Mutex((now: 0, most: 0))
    private let fails: Bool

    var most: Int { inside.withLock(\.most) }

    init(fails: Bool = false) { self.fails = fails }

    func query(
        _ statement: Statement, _ parameters: EncodedParameters, locking row: RowKey
    ) async throws(PostgresError) -> [Row] {
        inside.withLock { inside in
            inside.now += 1
            inside.most = max(inside.most, inside.now)
        }
        for _ in 0..<10 { await Task.yield() }
        inside.withLock { $0.now -= 1 }
        if fails { throw .unavailable(.connectFailed) }
        return []
    }
}
