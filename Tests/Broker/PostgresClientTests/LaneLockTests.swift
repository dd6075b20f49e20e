import PostgresClient
import PrivateCluster
import Testing

@Suite(.timeLimit(.minutes(1))) struct LaneLockTests {
    private static let schema = """
        CREATE TABLE item (n int PRIMARY KEY, count int NOT NULL DEFAULT 0);
        INSERT INTO item SELECT generate_series(0, 9);
        """
    private static let update = Statement("UPDATE item SET count = count + 1 WHERE n = $1")

    private static func key(_ n: Int32) -> RowKey { RowKey(Array("item \(n)".utf8)) }

    @Test func batchRunsInTheOrderOfItsRows() async throws {
        try await withLanes { lanes, database in
            try await PrivateCluster.shared.psql("CREATE TABLE seen (position serial, n int)", database: database)
            let insert = Statement("INSERT INTO seen (n) VALUES ($1)")
            _ = try await lanes.asOneBatch(database) {
                var calls: [PendingCall] = []
                for n: Int32 in 0..<20 {
                    calls.append(await lanes.queue(insert, [.int32(n)], locking: Self.key(n)))
                }
                return calls
            }
            let order = try await lanes.query(Statement("SELECT n FROM seen ORDER BY position"))
                .map { row throws(PostgresError) in try row.int32(0) }
            #expect(order == (0..<20).sorted { Self.key($0) < Self.key($1) })
            #expect(order != Array(0..<20), "the test shows nothing if the order is that of the calls")
        }
    }

    /// Many batches over the same rows, each in another order.
    @Test func batchesThatWantTheSameRowsDoNotDeadlock() async throws {
        try await withLanes(4, { $1.maxBatch = 10 }) { lanes, database in
            try await PrivateCluster.shared.psql(Self.schema, database: database)
            try await withThrowingTaskGroup { group in
                for _ in 0..<100 {
                    for n in (Int32(0)..<10).shuffled() {
                        group.addTask {
                            _ = try await lanes.query(Self.update, [.int32(n)], locking: Self.key(n))
                        }
                    }
                }
                try await group.waitForAll()
            }
            let sum = try await lanes.query(Statement("SELECT sum(count) FROM item"))[0].int64(0)
            #expect(sum == 1000)
            #expect(lanes.statistics.failedBatchesTotal == 0)
        }
    }

    @Test func rowThatIsLockedHoldsUpItsOwnCallerOnly() async throws {
        try await withLanes(1, { $1.batchLockTimeout = .milliseconds(20) }) { lanes, database in
            try await PrivateCluster.shared.psql(Self.schema, database: database)
            let holder = try await PrivateCluster.shared.pool(database: database, size: 1, patient)
            // The session that locked the row waits at a gate.
            try await withGate(database, key: 8) { gate in
                let holding = Task {
                    await failure { () throws(PostgresError) in
                        try await holder.withTransaction(deadline: .seconds(20)) { transaction throws(PostgresError) in
                            _ = try transaction.query(Self.update, [.int32(5)])
                            _ = try transaction.query(Gate.passSecond)
                        }
                    }
                }
                try await gate.untilBlocked(1)
                let calls = try await lanes.inOneBatch(database, behind: 1) {
                    var calls: [PendingCall] = []
                    for n: Int32 in 3..<8 {
                        calls.append(await lanes.queue(Self.update, [.int32(n)], locking: Self.key(n)))
                    }
                    return calls
                }
                for index in [0, 1, 3, 4] { _ = try await calls[index].value.get() }  // the row is still locked
                try await gate.open()
                _ = try await calls[2].value.get()
                #expect(await holding.value == nil)
                #expect(lanes.statistics.callsAsideTotal == 1 && lanes.statistics.repeatedCallsTotal == 5)
            }
            await holder.shutdown()
        }
    }

    /// More locked rows than lanes.
    @Test func lockedRowsDoNotStopTheLanes() async throws {
        try await withLanes(2, { $1.batchLockTimeout = .milliseconds(20) }) { lanes, database in
            try await PrivateCluster.shared.psql(Self.schema, database: database)
            try await withGate(database) { gate in
                let waiting = (0..<5).map { _ in lanes.start(Gate.pass) }
                while lanes.statistics.callsAsideTotal < 5 { await Task.yield() }
                for n: Int32 in 0..<10 { _ = try await lanes.query(Self.update, [.int32(n)], locking: Self.key(n)) }
                try await gate.open()
                for call in waiting { _ = try await call.value.get() }
            }
        }
    }
}
