import PostgresClient
import PrivateCluster
import Testing

@Suite(.timeLimit(.minutes(1))) struct LaneBatchTests {
    /// The transaction in which a call ran.
    private static let transaction = Statement("SELECT pg_current_xact_id()::text")
    /// The same, for a call that leaves a row.
    private static let insert = Statement("INSERT INTO item (n) VALUES ($1) RETURNING pg_current_xact_id()::text")
    private static let all = Statement("SELECT n FROM item ORDER BY position")
    private static let schema = """
        CREATE TABLE item (position serial, n int CHECK (n > 0) CONSTRAINT item_unique UNIQUE DEFERRABLE INITIALLY DEFERRED)
        """

    private func transactions(_ answers: [Result<[Row], PostgresError>]) throws -> Set<String> {
        Set(try answers.filter { $0.error == nil }.map { try $0.get()[0].text(0) })
    }

    private func items(_ lanes: BatchingLanes) async throws -> [Int32] {
        try await lanes.query(Self.all).map { row throws(PostgresError) in try row.int32(0) }
    }

    @Test func callsThatWaitTogetherShareOneTransaction() async throws {
        try await withLanes { lanes, database in
            let before = lanes.statistics
            let answers = try await lanes.asOneBatch(database) {
                var calls: [PendingCall] = []
                for _ in 0..<10 { calls.append(await lanes.queue(Self.transaction)) }
                return calls
            }
            #expect(try transactions(answers).count == 1)
            let after = lanes.statistics
            #expect(after.batchesTotal - before.batchesTotal == 2)
            #expect(after.callsTotal - before.callsTotal == 11)
            #expect(after.failedBatchesTotal == 0 && after.repeatedCallsTotal == 0)
        }
    }

    @Test func eachCallHasItsOwnAnswer() async throws {
        try await withLanes { lanes, database in
            let answers = try await lanes.asOneBatch(database) {
                var calls: [PendingCall] = []
                // The answers need more than one read, the calls more than one write.
                for n in 0..<100 {
                    let echo = Statement("SELECT $1::text FROM generate_series(1, $2::int)")
                    let text = String(repeating: "\(n) ", count: 5000)
                    calls.append(
                        await lanes.queue(
                            echo, [.text(text), .int32(Int32(n % 5))], locking: RowKey([UInt8(n)])))
                }
                return calls
            }
            for (n, answer) in answers.enumerated() {
                let rows = try answer.get()
                #expect(rows.count == n % 5)
                for row in rows { #expect(try row.text(0).hasPrefix("\(n) \(n) ")) }
            }
            #expect(lanes.statistics.failedBatchesTotal == 0)
        }
    }

    @Test func loneCallGoesAtOnceAndAlone() async throws {
        try await withLanes(2) { lanes, database in
            let before = lanes.statistics
            for _ in 0..<10 { _ = try await lanes.query(Self.transaction) }
            let after = lanes.statistics
            #expect(after.batchesTotal - before.batchesTotal == 10)
            // One lane waits for its commit. A new call does not wait for that lane.
            try await withGate(database) { gate in
                let blocked = lanes.start(Gate.pass)
                try await gate.untilBlocked(1)
                _ = try await lanes.query(Self.transaction)
                try await gate.open()
                _ = try await blocked.value.get()
            }
        }
    }

    /// Those without fault run again together.
    @Test(
        arguments: [
            ([1, 2, -3, 4, 5], [nil, nil, "23514", nil, nil], 1),
            ([1, -2, 3, -4, -5], [nil, "23514", nil, "23514", "23514"], 2),
            // The server refuses the commit, so no single call is at fault.
            ([1, 2, 2, 3], [nil, nil, "23505", nil], nil),
        ] as [([Int32], [String?], Int?)])
    func poisonedCallsFailAlone(numbers: [Int32], codes: [String?], repetitions: Int?) async throws {
        try await withLanes { lanes, database in
            try await PrivateCluster.shared.psql(Self.schema, database: database)
            let answers = try await lanes.asOneBatch(database) {
                var calls: [PendingCall] = []
                for n in numbers { calls.append(await lanes.queue(Self.insert, [.int32(n)])) }
                return calls
            }
            #expect(answers.map(\.error?.state?.code) == codes)
            let kept = zip(numbers, codes).compactMap { number, code in code == nil ? number : nil }
            #expect(try await items(lanes) == kept)
            if let repetitions { #expect(try transactions(answers).count == repetitions) }
            let statistics = lanes.statistics
            if repetitions == 1 {
                #expect(statistics.failedBatchesTotal == 1 && statistics.repeatedCallsTotal == 5)
            }
        }
    }

    @Test func statementThatCannotBePreparedFailsItsOwnCallsOnly() async throws {
        try await withLanes { lanes, database in
            let answers = try await lanes.asOneBatch(database) {
                [
                    await lanes.queue(Self.transaction), await lanes.queue(Statement("SELECT nonsense")),
                    await lanes.queue(Self.transaction), await lanes.queue(Statement("SELECT nonsense")),
                ]
            }
            #expect(answers.map(\.error?.state?.code) == [nil, "42703", nil, "42703"])
            #expect(try transactions(answers).count == 1)
            #expect(lanes.statistics.failedBatchesTotal == 0)
        }
    }

    @Test func changeOfTheSchemaFailsNoCall() async throws {
        try await withLanes { lanes, database in
            try await PrivateCluster.shared.psql(
                "CREATE TABLE item (n int); INSERT INTO item VALUES (1)", database: database)
            let all = Statement("SELECT * FROM item")
            #expect(try await lanes.query(all)[0].count == 1)
            try await PrivateCluster.shared.psql("ALTER TABLE item ADD COLUMN t text DEFAULT 'new'", database: database)
            let answers = try await lanes.asOneBatch(database) {
                [await lanes.queue(all), await lanes.queue(Self.transaction), await lanes.queue(all)]
            }
            #expect(try answers.map { try $0.get()[0].count } == [2, 1, 2])
            // The call also fails alone.
            try await PrivateCluster.shared.psql("ALTER TABLE item DROP COLUMN t", database: database)
            #expect(try await lanes.query(all)[0].count == 1)
            #expect(lanes.statistics.connections.connectsTotal == 1)
        }
    }

    @Test func valueThatCannotTravelIsRefusedBeforeItIsSent() async throws {
        try await withLanes { lanes, _ in
            let calls = lanes.statistics.callsTotal
            let nul = await failure { () throws(PostgresError) in
                try await lanes.query(Statement("SELECT $1::text"), .text("a\0b"))
            }
            #expect(nul == .server(SQLState("22021"), message: "", constraint: nil))
            #expect(lanes.statistics.callsTotal == calls)
        }
    }
}
