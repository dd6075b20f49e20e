import PostgresClient
import PrivateCluster
import Testing

/// Faults of a whole batch.
@Suite(.timeLimit(.minutes(1))) struct LaneFaultTests {
    private static let insert = Statement("INSERT INTO item VALUES ($1)")
    private static let count = Statement("SELECT count(*) FROM item")

    /// Runs `body` with a batch in flight: two inserts and a call that waits at the gate.
    private func withBatchInFlight(
        _ lanes: BatchingLanes, _ database: String, cluster: PrivateCluster? = nil,
        _ body: (Gate, [PendingCall]) async throws -> Void
    ) async throws {
        try await withGate(database, key: 8, cluster: cluster) { second in
            let calls = try await lanes.inOneBatch(database, cluster: cluster) {
                [
                    await lanes.queue(Self.insert, [.int32(1)], locking: RowKey(Array("a".utf8))),
                    await lanes.queue(Gate.passSecond, locking: RowKey(Array("b".utf8))),
                    await lanes.queue(Self.insert, [.int32(2)], locking: RowKey(Array("c".utf8))),
                ]
            }
            try await second.untilBlocked(1)
            try await body(second, calls)
        }
    }

    @Test func lostConnectionLeavesAllOfItsBatchUnknownAndRepeatsNothing() async throws {
        try await withLanes { lanes, database in
            try await PrivateCluster.shared.psql("CREATE TABLE item (n int)", database: database)
            try await withBatchInFlight(lanes, database) { gate, calls in
                let behind = await lanes.queue(Self.insert, [.int32(3)])
                try await gate.terminateBlocked()
                for call in calls {
                    let error = await call.value.error
                    #expect(error == .outcomeUnknown(.connectionLost))
                }
                _ = try await behind.value.get()  // the call was still queued
                try await gate.open()
            }
            let rows = try await lanes.query(Statement("SELECT n FROM item"))
            #expect(try rows.map { row throws(PostgresError) in try row.int32(0) } == [3])
            #expect(lanes.statistics.repeatedCallsTotal == 0)
        }
    }

    /// A pool beside the lanes gives up its call at its own deadline.
    @Test func hungServerFailsItsBatchAtTheDeadlineAndTheQueueBefore() async throws {
        let cluster = try await PrivateCluster.start(options: .testing)
        try await cluster.psql("CREATE TABLE item (n int)")
        let lanes = try await cluster.lanes { configuration, _ in
            configuration.callDeadline = .seconds(3)
            configuration.queueWait = .seconds(1)
        }
        let pool = try await cluster.pool(size: 1) { $0.callDeadline = .milliseconds(400) }
        _ = try await pool.query(Self.count)  // it has a connection
        try await withBatchInFlight(lanes, PrivateCluster.superuser, cluster: cluster) { gate, calls in
            try await cluster.suspend()
            let given = await pool.start(Self.count).value.error
            #expect(given == .outcomeUnknown(.deadlineExceeded))
            let behind = await lanes.queue(Self.insert, [.int32(3)])
            let shed = await behind.value.error
            #expect(shed == .unavailable(.queueWaitExceeded))
            for call in calls {
                let error = await call.value.error
                #expect(error == .outcomeUnknown(.deadlineExceeded))
            }
            try await cluster.resume()
            try await gate.open()
        }
        for executor in [lanes, pool] as [any TestedExecutor] {
            try await executor.waitUntilConnected(within: .seconds(20))
            _ = try await executor.query(Self.count)
            await executor.shutdown()
        }
        try await cluster.stop()
    }

    /// Without a server, a call fails after the queue wait and not at its deadline.
    @Test func withoutServerCallsFailAfterTheQueueWait() async throws {
        let cluster = try await PrivateCluster.start(options: .testing)
        let lanes = try await cluster.lanes(2) { configuration, _ in configuration.queueWait = .milliseconds(200) }
        try await cluster.kill9()
        while lanes.statistics.connections.connections > 0 { _ = await lanes.start(Self.count).value }
        let began = ContinuousClock.now
        let calls = (0..<10).map { _ in lanes.start(Self.count) }
        for call in calls {
            let error = await call.value.error
            #expect(error == .unavailable(.connectFailed))
        }
        #expect(ContinuousClock.now - began < .seconds(5), "the deadline is 20 s")
        try await cluster.restart()
        try await lanes.waitUntilConnected(within: .seconds(20))
        await lanes.shutdown()
        try await cluster.stop()
    }

    @Test func batchThatWasNotReplicatedIsASuccessForNoCall() async throws {
        let cluster = try await PrivateCluster.start(options: .testing)
        try await cluster.psql("CREATE TABLE item (n int)")
        let lanes = try await cluster.lanes()
        try await withBatchInFlight(lanes, PrivateCluster.superuser, cluster: cluster) { gate, calls in
            try await cluster.awaitMissingStandby()
            try await gate.open()
            try await cluster.cancelWaitForStandby()
            for call in calls {
                let error = await call.value.error
                #expect(error == .outcomeUnknown(.committedLocallyOnly))
            }
        }
        #expect(try await cluster.psql("SELECT n FROM item ORDER BY n") == "1\n2\n")
        #expect(lanes.statistics.repeatedCallsTotal == 0 && lanes.statistics.connections.connectsTotal == 1)
        await lanes.shutdown()
        try await cluster.stop()
    }

    @Test func serverThatStopsTakingWritesFailsItsBatchAndIsLeft() async throws {
        try await withLanes { lanes, database in
            try await PrivateCluster.shared.psql("CREATE TABLE item (n int)", database: database)
            _ = try await lanes.query(Statement("SELECT set_config('default_transaction_read_only', 'on', false)"))
            let answers = try await lanes.asOneBatch(database) {
                [
                    await lanes.queue(Self.insert, [.int32(1)]), await lanes.queue(Self.count),
                    await lanes.queue(Self.insert, [.int32(2)]),
                ]
            }
            for answer in answers { #expect(answer.error?.state?.isReadOnly == true) }
            _ = try await lanes.query(Self.insert, .int32(3))
            #expect(lanes.statistics.connections.connectsTotal == 2)
        }
    }
}

extension PrivateCluster {
    /// From now on a commit waits for a missing standby.
    nonisolated func awaitMissingStandby() async throws {
        try await psql("ALTER SYSTEM SET synchronous_standby_names = 'missing'")
        try await psql("SELECT pg_reload_conf()")
        while try await psql("SHOW synchronous_standby_names") != "missing\n" {}
    }

    /// Cancels the first wait for the standby.
    nonisolated func cancelWaitForStandby() async throws {
        let cancel = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
        while try await psql(cancel) != "t\n" {}
    }
}
