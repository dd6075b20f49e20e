import Foundation
import PostgresClient
import PrivateCluster
import Testing

/// Faults of a whole server, each on its own cluster.
@Suite(.timeLimit(.minutes(1))) struct FaultTests {
    private static let one = Statement("SELECT 1")

    @Test(arguments: Engine.allCases)
    func restartCostsNoCallThatWasNotInFlight(engine: Engine) async throws {
        let cluster = try await PrivateCluster.start(options: .testing)
        var configuration = try cluster.configuration()
        configuration.queueWait = .seconds(5)
        let executor = engine.start(configuration, connections: 4)
        for _ in 0..<8 { _ = try await executor.query(Self.one) }
        try await cluster.restart()
        for _ in 0..<8 { _ = try await executor.query(Self.one) }
        try await cluster.kill9()
        let down = await failure { () throws(PostgresError) in
            try await executor.waitUntilConnected(within: .seconds(1))
        }
        #expect(down == .unavailable(.connectFailed))
        try await cluster.restart()
        for _ in 0..<8 { _ = try await executor.query(Self.one) }
        await executor.shutdown()
        try await cluster.stop()
    }

    @Test(arguments: Engine.allCases)
    func terminatedBackendLeavesTheOutcomeUnknown(engine: Engine) async throws {
        try await engine.withExecutor { executor, database in
            try await withGate(database) { gate in
                let call = executor.start(Gate.pass)
                try await gate.untilBlocked(1)
                try await gate.terminateBlocked()
                #expect(await call.value.error == .outcomeUnknown(.connectionLost))
                try await gate.open()
                _ = try await executor.query(Gate.pass)
            }
        }
    }

    @Test func transactionWhoseConnectionIsLostChangedNothing() async throws {
        try await withPool(size: 1, patient) { pool, database in
            try await PrivateCluster.shared.psql("CREATE TABLE item (n int)", database: database)
            let error = await failure { () throws(PostgresError) in
                try await pool.withTransaction { transaction throws(PostgresError) in
                    _ = try transaction.query(Statement("INSERT INTO item VALUES (1)"))
                    _ = try transaction.query(Statement("SELECT pg_terminate_backend(pg_backend_pid())"))
                }
            }
            #expect(error == .unavailable(.connectionLost))
            let count = try await pool.query(Statement("SELECT count(*) FROM item"))[0]
            #expect(try count.int64(0) == 0)
        }
    }

    /// The standby never confirms and an operator cancels the wait. The server then reports success with a warning.
    @Test func commitThatWasNotReplicatedIsNoSuccess() async throws {
        let cluster = try await PrivateCluster.start(options: .testing)
        try await cluster.psql("CREATE TABLE item (n int)")
        let pool = try await cluster.pool(size: 1, patient)
        try await cluster.awaitMissingStandby()
        let insert = Statement("INSERT INTO item VALUES (1)")
        let transaction = Task {
            await failure { () throws(PostgresError) in
                try await pool.withTransaction { transaction throws(PostgresError) in
                    _ = try transaction.query(insert)
                }
            }
        }
        try await cluster.cancelWaitForStandby()
        #expect(await transaction.value == .outcomeUnknown(.committedLocallyOnly))
        let call = pool.start(insert)
        try await cluster.cancelWaitForStandby()
        #expect(await call.value.error == .outcomeUnknown(.committedLocallyOnly))
        #expect(try await cluster.psql("SELECT n FROM item") == "1\n1\n")
        await pool.shutdown()
        try await cluster.stop()
    }

    /// A copy of the data from before the last confirmed count is refused, until an operator accepts it.
    @Test(arguments: Engine.allCases)
    func databaseThatWentBackwardsIsRefused(engine: Engine) async throws {
        let cluster = try await PrivateCluster.start(options: .testing)
        try await cluster.psql(
            "CREATE TABLE count (number bigint, acceptance bigint); INSERT INTO count VALUES (0, 0); CHECKPOINT")
        let history = Self.history()
        let events = Events()
        let executor = engine.start(try cluster.configuration(), history: history) { events.append($0) }
        try await executor.waitUntilConnected(within: .seconds(20))
        #expect(try await history.count(in: executor, serves: true)?.number == 1)
        try await cluster.kill9()
        try copy("\(cluster.directory)/data", to: "\(cluster.directory)/backup")
        try await cluster.restart()
        try await executor.waitUntilConnected(within: .seconds(20))
        #expect(try await history.count(in: executor, serves: true)?.number == history.memory.number)
        try await cluster.kill9()
        try FileManager.default.removeItem(atPath: "\(cluster.directory)/data")
        try copy("\(cluster.directory)/backup", to: "\(cluster.directory)/data")
        try await cluster.restart()
        let error = await failure { () throws(PostgresError) in
            try await executor.waitUntilConnected(within: .seconds(1))
        }
        #expect(error == .unavailable(.databaseWentBackwards))
        #expect(
            events.all.contains(
                .connectFailed(
                    server: "127.0.0.1:\(cluster.port)", reason: .databaseWentBackwards, state: nil,
                    message: nil)))
        try await cluster.psql("UPDATE count SET acceptance = 5")
        try await executor.waitUntilConnected(within: .seconds(20))
        #expect(history.memory.acceptance == 5)
        // Below a living connection the rows are replaced by older ones. An acceptance that was seen helps no second time,
        // and the database that was given up has a higher number, and no acceptance.
        for (rows, right) in [("(0, 5)", 100), ("(NULL, 5)", 200)] {
            try await cluster.psql("DELETE FROM count; INSERT INTO count VALUES \(rows)")
            #expect(try await history.count(in: executor, serves: true) == nil)
            let later = await failure { () throws(PostgresError) in _ = try await executor.query(Statement("SELECT 1"))
            }
            #expect(later == .unavailable(.databaseWentBackwards), "\(rows)")
            try await cluster.psql("DELETE FROM count; INSERT INTO count VALUES (\(right), 5)")
            try await executor.waitUntilConnected(within: .seconds(20))
        }
        try await cluster.psql("DELETE FROM count; INSERT INTO count VALUES (1000, 0)")
        try await cluster.restart()
        let given = await failure { () throws(PostgresError) in
            try await executor.waitUntilConnected(within: .seconds(1))
        }
        #expect(given == .unavailable(.databaseWentBackwards))
        await executor.shutdown()
        try await cluster.stop()
    }

    /// A broker that knows a number does not take a database without the schema for a new one.
    @Test func databaseWithoutTheSchemaIsRefusedIfOneIsKnown() async throws {
        for known in [0, 1] as [Int64] {
            let history = Self.history(DatabaseHistory.Memory(number: known))
            let cluster = try await PrivateCluster.shared
            let executor = Engine.pool.start(try cluster.configuration(), history: history) { _ in }
            let error = await failure { () throws(PostgresError) in
                try await executor.waitUntilConnected(within: .seconds(1))
            }
            #expect(error == (known == 0 ? nil : .unavailable(.databaseWentBackwards)))
            await executor.shutdown()
        }
    }

    /// With a table `count` of one row.
    private static func history(_ memory: DatabaseHistory.Memory = .init()) -> DatabaseHistory {
        DatabaseHistory(
            look: Statement(
                """
                SELECT max(number), max(acceptance), (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint
                FROM count WHERE $1::uuid IS NOT NULL
                """),
            counting: Statement(
                """
                UPDATE count SET number = number + 1
                WHERE $1::uuid IS NOT NULL AND number >= $2 AND $3::bool IS NOT NULL RETURNING number
                """),
            broker: Array(repeating: 1, count: 16), memory: memory)
    }

    private func copy(_ source: String, to target: String) throws {
        let copying = try Process.run(URL(filePath: "/bin/cp"), arguments: ["-a", source, target])
        copying.waitUntilExit()
        try #require(copying.terminationStatus == 0)
    }
}
