import PostgresClient
import PrivateCluster
import Testing

@Suite(.timeLimit(.minutes(1))) struct PoolTests {
    /// A pool that has just started.
    @Test func connectionIsOpenedOnlyForCallThatWaits() async throws {
        try await withPool(
            size: 16,
            {
                patient(&$0)
                $0.warmUp = .seconds(3600)
            }
        ) { pool, database in
            try await withGate(database) { gate in
                for _ in 0..<4 { _ = try await pool.query(Statement("SELECT 1")) }
                try await withThrowingTaskGroup { group in
                    for _ in 0..<8 { group.addTask { _ = try await pool.query(Gate.pass, []) } }
                    try await gate.untilBlocked(8)
                    // A lane that has just answered is not idle yet, so that some connections are one too many.
                    #expect((8..<16).contains(pool.statistics.connections.connectsTotal))
                    try await gate.open()
                    try await group.waitForAll()
                }
            }
        }
    }

    @Test func allConnectionsAreOpenSoonAfterTheStart() async throws {
        try await withPool(size: 4, { $0.warmUp = .milliseconds(1) }) { pool, _ in
            while pool.statistics.idleLanes < 4 { await Task.yield() }
        }
    }

    @Test func queueIsBoundedInLengthAndTime() async throws {
        try await withPool(
            size: 1,
            {
                patient(&$0)
                $0.queueWait = .seconds(1)
            }
        ) { pool, database in
            try await withGate(database) { gate in
                let inFlight = pool.start(Gate.pass)
                try await gate.untilBlocked(1)
                let waiting = (0..<4).map { _ in pool.start(Gate.pass) }
                while pool.statistics.queueDepth < 4 { await Task.yield() }
                #expect(await pool.start(Gate.pass).value.error == .unavailable(.queueFull))
                for call in waiting { #expect(await call.value.error == .unavailable(.queueWaitExceeded)) }
                #expect(pool.statistics.shedTotal == 5)
                try await gate.open()
                _ = try await inFlight.value.get()
            }
        }
    }

    /// At one moment, as many calls as idle connections and places in the queue.
    @Test func burstIsTakenInFull() async throws {
        try await withPool(size: 4, patient) { pool, _ in
            for _ in 0..<20 {
                while pool.statistics.idleLanes < 4 { await Task.yield() }
                try await withThrowingTaskGroup { group in
                    for _ in 0..<20 { group.addTask { _ = try await pool.query(Statement("SELECT 1"), []) } }
                    try await group.waitForAll()
                }
            }
            #expect(pool.statistics.shedTotal == 0)
        }
    }
}
