import PostgresClient
import PrivateCluster
import Testing

/// When a second lane starts a batch beside the first.
@Suite(.timeLimit(.minutes(1))) struct LaneTurnTests {
    /// The transaction in which a call ran.
    private static let transaction = Statement("SELECT pg_current_xact_id()::text")

    /// Runs `body` with two lanes. One waits at a gate.
    private func withOneInFlight(
        patience: Duration = .seconds(600), maxBatch: Int = 128,
        _ body: (BatchingLanes, Gate, _ database: String, _ inFlight: PendingCall) async throws -> Void
    ) async throws {
        try await withLanes(2, { ($1.patience, $1.maxBatch) = (patience, maxBatch) }) { lanes, database in
            while lanes.statistics.idleLanes < 2 { await Task.yield() }
            try await withGate(database) { gate in
                let inFlight = lanes.start(Gate.pass)
                try await gate.untilBlocked(1)
                try await body(lanes, gate, database, inFlight)
            }
        }
    }

    private func transactions(_ calls: [PendingCall]) async throws -> Set<String> {
        var transactions: Set<String> = []
        for call in calls { transactions.insert(try await call.value.get()[0].text(0)) }
        return transactions
    }

    @Test func whatWaitsGoesTogetherWithTheNextBatchOfTheLaneInFlight() async throws {
        try await withOneInFlight { lanes, gate, _, inFlight in
            let before = lanes.statistics.batchesTotal
            var calls: [PendingCall] = []
            for _ in 0..<20 { calls.append(await lanes.queue(Self.transaction)) }
            #expect(lanes.statistics.batchesTotal == before && lanes.statistics.idleLanes == 1)
            try await gate.open()
            _ = try await inFlight.value.get()
            #expect(try await transactions(calls).count == 1)
            #expect(lanes.statistics.batchesTotal == before + 1)
        }
    }

    @Test func laneThatTakesTooLongLeavesTheRestToTheOther() async throws {
        try await withOneInFlight(patience: .milliseconds(20)) { lanes, gate, _, inFlight in
            for _ in 0..<3 { _ = try await lanes.query(Self.transaction) }
            try await gate.open()
            _ = try await inFlight.value.get()
        }
    }

    @Test func fullBatchThatWaitsBringsTheSecondLane() async throws {
        try await withOneInFlight(maxBatch: 4) { lanes, gate, _, inFlight in
            var calls: [PendingCall] = []
            for _ in 0..<3 { calls.append(await lanes.queue(Self.transaction)) }
            calls.append(lanes.start(Self.transaction))
            #expect(try await transactions(calls).count == 1)
            // Fewer calls than a batch wait again.
            let next = await lanes.queue(Self.transaction)
            try await gate.open()
            _ = try await inFlight.value.get()
            _ = try await next.value.get()
        }
    }

    /// The lane cannot reconnect.
    @Test func laneWithoutConnectionDelaysNoCall() async throws {
        try await withOneInFlight { lanes, gate, database, inFlight in
            let behind = await lanes.queue(Self.transaction)
            try await PrivateCluster.shared.psql("ALTER DATABASE \(database) ALLOW_CONNECTIONS false")
            try await gate.terminateBlocked()
            #expect(await inFlight.value.error == .outcomeUnknown(.connectionLost))
            _ = try await behind.value.get()
            _ = try await lanes.query(Self.transaction)
            #expect(lanes.statistics.connections.connectsTotal == 2)
        }
    }

    @Test func shutdownSendsQueuedCallsAtOnce() async throws {
        try await withOneInFlight { lanes, gate, _, inFlight in
            let queued = await lanes.queue(Self.transaction)
            async let ended: Void = lanes.shutdown()
            _ = try await queued.value.get()
            try await gate.open()
            await ended
            _ = try await inFlight.value.get()
        }
    }
}
