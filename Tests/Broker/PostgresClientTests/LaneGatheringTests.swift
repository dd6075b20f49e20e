import PostgresClient
import PrivateCluster
import Testing

/// Calls that share one statement.
@Suite(.timeLimit(.minutes(1))) struct LaneGatheringTests {
    /// `step` adds to a row. `step_batch` adds to many rows, but skips rows from 100 on. Both record their name.
    private static let schema = """
        CREATE TABLE item (n int PRIMARY KEY, count int NOT NULL DEFAULT 0);
        INSERT INTO item SELECT generate_series(0, 9) UNION ALL SELECT 100;
        CREATE TABLE made (position serial, by text, n int, note text);
        CREATE TYPE step_call AS (n int, note text, label text[]);
        CREATE FUNCTION step(p_n int, p_key text, p_note text, p_label text[]) RETURNS int LANGUAGE sql AS $$
            INSERT INTO made (by, n, note) VALUES ('itself', p_n, p_note || array_to_string(p_label, '-'));
            UPDATE item SET count = count + 10 / (10 - p_n % 100) WHERE n = p_n RETURNING count
        $$;
        CREATE FUNCTION step_batch(p_calls step_call[]) RETURNS TABLE (answer int, place bigint) LANGUAGE sql AS $$
            WITH asked AS (
                SELECT * FROM unnest(p_calls) WITH ORDINALITY AS a (n, note, label, place)
            ), noted AS (
                INSERT INTO made (by, n, note)
                SELECT 'many', n, note || array_to_string(label, '-') FROM asked WHERE n < 100 ORDER BY place
            )
            UPDATE item i SET count = count + 10 / (10 - a.n % 100) FROM asked a WHERE i.n = a.n AND a.n < 100
            RETURNING i.count, a.place
        $$
        """
    private static let step = Statement(
        "SELECT step($1, $4, $2, $3)",
        gathering: Gathering(
            "SELECT answer, place FROM step_batch($1)", of: "step_call",
            [.int4, .text, .textArray]))
    private static let made = Statement("SELECT by, n, note FROM made ORDER BY position")

    private func key(_ n: Int32) -> RowKey { RowKey(Array("item \(n)".utf8)) }

    /// Makes one call per number, all in one batch.
    private func steps(
        _ lanes: BatchingLanes, _ database: String, _ numbers: [Int32], key shown: String? = nil
    ) async throws -> [Result<[Row], PostgresError>] {
        try await lanes.asOneBatch(database) {
            var calls: [PendingCall] = []
            for n in numbers {
                let parameters: [PostgresValue] = [
                    .int32(n), .text("note \(n) "), .textArray(n == 2 ? [] : ["a", "\(n)"]), .optionalText(shown),
                ]
                calls.append(await lanes.queue(Self.step, parameters, locking: key(n)))
            }
            return calls
        }
    }

    private func stepped(
        _ lanes: BatchingLanes, _ database: String, _ numbers: [Int32], key: String? = nil
    ) async throws -> [Int32?] {
        try counts(try await steps(lanes, database, numbers, key: key))
    }

    private func counts(_ answers: [Result<[Row], PostgresError>]) throws -> [Int32?] {
        try answers.map { answer in answer.error == nil ? try answer.get()[0].int32(0) : nil }
    }

    /// Which function ran each call, in the order of the numbers.
    private func made(_ lanes: BatchingLanes) async throws -> [String] {
        try await lanes.query(Self.made).map { "\(try $0.int32(1)) \(try $0.text(0)): \(try $0.text(2))" }.sorted()
    }

    private func withFixture(_ body: (BatchingLanes, String) async throws -> Void) async throws {
        try await withLanes(1, { $1.gathersFrom = 3 }) { lanes, database in
            try await PrivateCluster.shared.psql(Self.schema, database: database)
            try await body(lanes, database)
        }
    }

    private static let cases: [(numbers: [Int32], key: String?, counts: [Int32?], gathered: Int)] = [
        ([1, 2, 3, 9], nil, [1, 1, 1, 10], 4),
        // Few are made each by itself.
        ([1, 2], nil, [1, 1], 0),
        // One that is not answered is made by itself.
        ([1, 100, 2], nil, [1, 1, 1], 2),
        // So is one with a parameter that many do not have.
        ([1, 2, 3], "shown", [1, 1, 1], 0),
    ]

    @Test(arguments: cases.indices) func enoughCallsAreMadeByOneStatement(_ index: Int) async throws {
        let (numbers, key, expected, gathered) = Self.cases[index]
        try await withFixture { lanes, database in
            let counts = try await stepped(lanes, database, numbers, key: key)
            #expect(counts == expected)
            let rows = try await made(lanes)
            let notes = numbers.map { n in
                let maker = gathered > 0 && n < 100 ? "many" : "itself"
                return "\(n) \(maker): note \(n) " + (n == 2 ? "" : "a-\(n)")
            }
            #expect(rows == notes.sorted())
            #expect(lanes.statistics.gatheredCallsTotal == gathered && lanes.statistics.failedBatchesTotal == 0)
        }
    }

    @Test func ofTwoForOneRowOneIsMadeAfterTheOther() async throws {
        try await withFixture { lanes, database in
            let counts = try await stepped(lanes, database, [1, 2, 1, 3, 1])
            #expect(counts.compactMap { $0 }.sorted() == [1, 1, 1, 2, 3])
            #expect(lanes.statistics.gatheredCallsTotal == 3)
            #expect(lanes.statistics.failedBatchesTotal == 0)
        }
    }

    /// The call fails the whole array, then fails alone.
    @Test func poisonedCallFailsAlone() async throws {
        try await withFixture { lanes, database in
            try await PrivateCluster.shared.psql("INSERT INTO item VALUES (10)", database: database)
            let answers = try await steps(lanes, database, [1, 10, 2, 3])
            #expect(answers.map(\.error?.state?.code) == [nil, "22012", nil, nil])
            #expect(try counts(answers) == [1, nil, 1, 1])
            #expect(lanes.statistics.gatheredCallsTotal == 0)
            // The next calls share a statement again.
            let counts7 = try await stepped(lanes, database, [1, 2, 3])
            #expect(counts7 == [2, 2, 2])
            #expect(lanes.statistics.gatheredCallsTotal == 3)
        }
    }

    @Test(arguments: [
        "DROP FUNCTION step_batch",
        "DROP FUNCTION step_batch; CREATE FUNCTION step_batch(int[]) RETURNS TABLE (answer int, place bigint) LANGUAGE sql "
            + "AS 'SELECT 1, 1::bigint'",
    ])
    func withoutTheFunctionEachIsMadeByItself(change: String) async throws {
        try await withFixture { lanes, database in
            try await PrivateCluster.shared.psql(change, database: database)
            let counts8 = try await stepped(lanes, database, [1, 2, 3])
            #expect(counts8 == [1, 1, 1])
            let counts9 = try await stepped(lanes, database, [1, 2, 3])
            #expect(counts9 == [2, 2, 2])
            #expect(lanes.statistics.gatheredCallsTotal == 0)
        }
    }

    /// The new type has another object id.
    @Test func changeOfTheSchemaFailsNoCall() async throws {
        try await withFixture { lanes, database in
            let counts10 = try await stepped(lanes, database, [1, 2, 3])
            #expect(counts10 == [1, 1, 1])
            try await PrivateCluster.shared.psql(
                """
                DROP FUNCTION step_batch; DROP TYPE step_call; CREATE TYPE step_call AS (n int, note text, label text[]);
                CREATE FUNCTION step_batch(p_calls step_call[]) RETURNS TABLE (answer int, place bigint) LANGUAGE sql AS
                    'UPDATE item i SET count = count + 1 FROM unnest(p_calls) WITH ORDINALITY AS a (n, note, label, place)
                     WHERE i.n = a.n RETURNING i.count, a.place'
                """, database: database)
            let counts11 = try await stepped(lanes, database, [1, 2, 3])
            #expect(counts11 == [2, 2, 2])
            let counts12 = try await stepped(lanes, database, [1, 2, 3])
            #expect(counts12 == [3, 3, 3])
        }
    }

    /// The lane must not repeat committed calls.
    @Test func answerThatMapsToNoCallFailsAll() async throws {
        try await withFixture { lanes, database in
            try await PrivateCluster.shared.psql(
                """
                CREATE OR REPLACE FUNCTION step_batch(p_calls step_call[]) RETURNS TABLE (answer int, place bigint)
                LANGUAGE sql AS 'SELECT 1, p FROM unnest(ARRAY[1, 4]) AS p'
                """, database: database)
            let answers = try await steps(lanes, database, [1, 2, 3])
            for answer in answers {
                guard case .unexpectedResult? = answer.error else {
                    Issue.record("\(answer)")
                    continue
                }
            }
            let rows = try await made(lanes)
            #expect(rows.isEmpty)
        }
    }
}
