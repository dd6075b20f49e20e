import PostgresClient
import PrivateCluster
import Testing

@Suite(.timeLimit(.minutes(1))) struct LaneQueueTests {
    private static let exchange = Statement("SELECT pg_current_xact_id()::text AS exchange")
    private static let refresh = Statement("SELECT pg_current_xact_id()::text AS refresh")

    /// Runs `body` while the only lane waits at a gate.
    private func whileBlocked(
        _ lanes: BatchingLanes, _ database: String, _ body: (Gate) async throws -> Void
    ) async throws {
        try await withGate(database) { gate in
            let blocked = lanes.start(Gate.pass)
            try await gate.untilBlocked(1)
            try await body(gate)
            try await gate.open()
            _ = try await blocked.value.get()
        }
    }

    @Test func floodOfOneKindDelaysNoOther() async throws {
        try await withLanes(1, { $1.maxBatch = 4 }) { lanes, database in
            let answers = try await lanes.asOneBatch(database) {
                var calls: [PendingCall] = []
                for _ in 0..<20 { calls.append(await lanes.queue(Self.exchange)) }
                for _ in 0..<2 { calls.append(await lanes.queue(Self.refresh)) }
                return calls
            }
            let transactions = try answers.map { try $0.get()[0].text(0) }
            #expect(transactions[20] == transactions[0] && transactions[21] == transactions[0])
            #expect(Set(transactions).count == 6, "two and two in the first batch, then four in each")
        }
    }

    @Test func eachKindHasItsShareOfTheQueue() async throws {
        try await withLanes(1, { $1.queueLimit = 3 }) { lanes, database in
            var queued: [PendingCall] = []
            try await whileBlocked(lanes, database) { _ in
                for _ in 0..<3 { queued.append(await lanes.queue(Self.exchange)) }
                let refused = await lanes.start(Self.exchange).value.error
                #expect(refused == .unavailable(.queueFull))
                queued.append(await lanes.queue(Self.refresh))
                #expect(lanes.statistics.shedTotal == 1)
            }
            for call in queued { _ = try await call.value.get() }
        }
    }

    @Test func callThatWaitedTooLongIsNeverSent() async throws {
        try await withLanes(1, { configuration, _ in configuration.queueWait = .milliseconds(300) }) {
            lanes, database in
            try await PrivateCluster.shared.psql("CREATE TABLE item (n int)", database: database)
            try await whileBlocked(lanes, database) { _ in
                let insert = Statement("INSERT INTO item VALUES (1)")
                for call in [lanes.start(insert), lanes.start(insert)] {
                    let error = await call.value.error
                    #expect(error == .unavailable(.queueWaitExceeded))
                }
                #expect(lanes.statistics.shedTotal == 2 && lanes.statistics.queueDepth == 0)
            }
            let count = try await lanes.query(Statement("SELECT count(*) FROM item"))[0].int64(0)
            #expect(count == 0)
        }
    }

    @Test func shutdownAnswersWhatIsQueued() async throws {
        try await withLanes { lanes, database in
            try await withGate(database) { gate in
                let inFlight = lanes.start(Gate.pass)
                try await gate.untilBlocked(1)
                let queued = await lanes.queue(Self.exchange)
                async let ended: Void = lanes.shutdown()
                try await gate.open()
                await ended
                #expect(try await inFlight.value.get().count == 1)
                #expect(try await queued.value.get().count == 1)
            }
        }
    }
}
