import PostgresClient
import PrivateCluster
import Testing

@Suite(.timeLimit(.minutes(1))) struct PoolTests {
    @Test func sixteenBlockedCallsDoNotStopTheProgram() async throws {
        try await withPool(size: 16, patient) { pool, database in
            try await withGate(database) { gate in
                try await withThrowingTaskGroup { group in
                    for _ in 0..<16 { group.addTask { _ = try await pool.query(Gate.pass, []) } }
                    // This code needs the cooperative pool, which has two threads here, while sixteen calls wait.
                    try await gate.untilBlocked(16)
                    try await gate.open()
                    try await group.waitForAll()
                }
            }
        }
    }

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
                $0.queueWait = .milliseconds(300)
            }
        ) { pool, database in
            try await withGate(database) { gate in
                let inFlight = Task { try await pool.query(Gate.pass, []) }
                try await gate.untilBlocked(1)
                let waiting = (0..<4).map { _ in
                    Task { await failure { () throws(PostgresError) in try await pool.query(Gate.pass, []) } }
                }
                while pool.statistics.queueDepth < 4 { await Task.yield() }
                let refused = await failure { () throws(PostgresError) in try await pool.query(Gate.pass, []) }
                #expect(refused == .unavailable(.queueFull))
                for task in waiting {
                    let error = await task.value
                    #expect(error == .unavailable(.queueWaitExceeded))
                }
                #expect(pool.statistics.shedTotal == 5)
                try await gate.open()
                _ = try await inFlight.value
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

    @Test func cancelledCallerLeavesTheQueueButNotAWriteInFlight() async throws {
        try await withPool(
            size: 1,
            {
                patient(&$0)
                $0.queueWait = .seconds(20)
            }
        ) { pool, database in
            try await PrivateCluster.shared.psql("CREATE TABLE item (n int)", database: database)
            try await withGate(database) { gate in
                let write = Statement("INSERT INTO item SELECT 1 FROM pg_advisory_xact_lock(7)")
                let inFlight = Task { try await pool.query(write, []) }
                try await gate.untilBlocked(1)
                let queued = Task {
                    await failure { () throws(PostgresError) in
                        try await pool.query(Statement("INSERT INTO item VALUES (2)"), [])
                    }
                }
                while pool.statistics.queueDepth < 1 { await Task.yield() }
                inFlight.cancel()
                queued.cancel()
                let withdrawn = await queued.value
                #expect(withdrawn == .unavailable(.cancelledWhileQueued))
                try await gate.open()
                _ = try await inFlight.value
            }
            let rows = try await pool.query(Statement("SELECT n FROM item"))
            #expect(try rows.map { row throws(PostgresError) in try row.int32(0) } == [1])
        }
    }

    @Test func shutdownAnswersWhatIsInFlightAndRefusesTheRest() async throws {
        try await withPool(size: 2, patient) { pool, database in
            try await withGate(database) { gate in
                let inFlight = Task { try await pool.query(Gate.pass, []) }
                try await gate.untilBlocked(1)
                async let ended: Void = pool.shutdown()
                var refused: PostgresError?
                while refused == nil {
                    refused = await failure { () throws(PostgresError) in
                        try await pool.query(Statement("SELECT 1"), [])
                    }
                }
                #expect(refused == .unavailable(.shuttingDown))
                try await gate.open()
                await ended
                let rows = try await inFlight.value
                #expect(rows.count == 1)
                #expect(pool.statistics.connections.connections == 0)
            }
        }
    }
}
