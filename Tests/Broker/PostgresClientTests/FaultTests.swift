import Foundation
import PostgresClient
import PrivateCluster
import Testing

/// Faults of a whole server, each on its own cluster.
@Suite(.timeLimit(.minutes(1))) struct FaultTests {
    private static let one = Statement("SELECT 1")

    @Test(arguments: Engine.allCases)
    func hungServerIsGivenUpAtTheDeadlineAndFoundAgain(engine: Engine) async throws {
        let cluster = try await PrivateCluster.start(options: .testing)
        var configuration = try cluster.configuration()
        configuration.callDeadline = .milliseconds(400)
        let executor = engine.start(configuration)
        try await executor.waitUntilConnected(within: .seconds(20))
        _ = try await executor.query(Self.one)
        try await cluster.suspend()
        let began = ContinuousClock.now
        let error = await failure { () throws(PostgresError) in try await executor.query(Self.one, []) }
        let took = ContinuousClock.now - began
        try await cluster.resume()
        #expect(error == .outcomeUnknown(.deadlineExceeded))
        #expect(took >= .milliseconds(400) && took < .milliseconds(900))
        try await executor.waitUntilConnected(within: .seconds(20))
        _ = try await executor.query(Self.one)
        await executor.shutdown()
        try await cluster.stop()
    }

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
                let call = Task {
                    await failure { () throws(PostgresError) in try await executor.query(Gate.pass, []) }
                }
                try await gate.untilBlocked(1)
                try await gate.terminateBlocked()
                let error = await call.value
                #expect(error == .outcomeUnknown(.connectionLost))
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
    @Test(arguments: CommitWay.allCases)
    func commitThatWasNotReplicatedIsNoSuccess(way: CommitWay) async throws {
        let cluster = try await PrivateCluster.start(options: .testing)
        try await cluster.psql("CREATE TABLE item (n int)")
        let pool = try await cluster.pool(size: 1, patient), lanes = try await cluster.lanes()
        try await cluster.awaitMissingStandby()
        let insert = Statement("INSERT INTO item VALUES (1)")
        let call = Task {
            await failure { () throws(PostgresError) in
                switch way {
                case .pool: try await pool.query(insert, [])
                case .lane: try await lanes.query(insert, [])
                case .transaction:
                    try await pool.withTransaction { transaction throws(PostgresError) in
                        try transaction.query(insert)
                    }
                }
            }
        }
        try await cluster.cancelWaitForStandby()
        let error = await call.value
        #expect(error == .outcomeUnknown(.committedLocallyOnly))
        #expect(try await cluster.psql("SELECT n FROM item") == "1\n")
        await pool.shutdown()
        await lanes.shutdown()
        try await cluster.stop()
    }

    enum CommitWay: CaseIterable { case pool, lane, transaction }

    /// A copy of the data from before the last confirmed count is refused, until an operator accepts it.
    @Test(arguments: Engine.allCases)
    func databaseThatWentBackwardsIsRefused(engine: Engine) async throws {
        let cluster = try await PrivateCluster.start(options: .testing)
        try await cluster.psql(
            "CREATE TABLE count (number bigint, acceptance bigint); INSERT INTO count VALUES (1, 0); CHECKPOINT")
        let history = DatabaseHistory(look: Self.look, broker: Array(repeating: 1, count: 16))
        let events = Events()
        let executor = engine.start(try cluster.configuration(), history: history) { events.append($0) }
        try await executor.waitUntilConnected(within: .seconds(20))
        #expect(history.memory.0 == DatabaseHistory.Memory())
        #expect(history.confirm(1, after: history.memory.acceptances).number == 1)
        try await cluster.kill9()
        try copy("\(cluster.directory)/data", to: "\(cluster.directory)/backup")
        try await cluster.restart()
        try await executor.waitUntilConnected(within: .seconds(20))
        _ = try await executor.query(Statement("UPDATE count SET number = 2"))
        _ = history.confirm(2, after: history.memory.acceptances)
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
        // A count that was sent before the acceptance says nothing of the accepted database.
        let before = history.memory.acceptances
        try await cluster.psql("UPDATE count SET acceptance = 5")
        try await executor.waitUntilConnected(within: .seconds(20))
        #expect(history.confirm(3, after: before) == DatabaseHistory.Memory(number: 1, acceptance: 5))
        // Nor does an acceptance that was seen allow a second step back.
        try await cluster.psql("DELETE FROM count; INSERT INTO count VALUES (NULL, 5)")
        history.distrust()
        let second = await failure { () throws(PostgresError) in _ = try await executor.query(Statement("SELECT 1")) }
        #expect(second == .unavailable(.databaseWentBackwards))
        await executor.shutdown()
        try await cluster.stop()
    }

    /// A broker that knows a number does not take a database without the schema for a new one.
    @Test func databaseWithoutTheSchemaIsRefusedIfOneIsKnown() async throws {
        for known in [0, 1] as [Int64] {
            let history = DatabaseHistory(
                look: Statement("SELECT number, 0::bigint, 0::bigint FROM missing WHERE $1::uuid IS NULL"),
                broker: Array(repeating: 1, count: 16), memory: DatabaseHistory.Memory(number: known))
            let cluster = try await PrivateCluster.shared
            let executor = Engine.pool.start(try cluster.configuration(), history: history) { _ in }
            let error = await failure { () throws(PostgresError) in
                try await executor.waitUntilConnected(within: .seconds(1))
            }
            #expect(error == (known == 0 ? nil : .unavailable(.databaseWentBackwards)))
            await executor.shutdown()
        }
    }

    private static let look = Statement(
        """
        SELECT max(number), max(acceptance), (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint
        FROM count WHERE $1::uuid IS NOT NULL
        """)

    private func copy(_ source: String, to target: String) throws {
        let copying = try Process.run(URL(filePath: "/bin/cp"), arguments: ["-a", source, target])
        copying.waitUntilExit()
        try #require(copying.terminationStatus == 0)
    }
}
