import PostgresClient
import PrivateCluster
import Testing

@Suite(.timeLimit(.minutes(1))) struct ValueTests {
    @Test func everyTypeReturnsAsItWasSent() async throws {
        let uuid = (0..<16).map { UInt8($0 * 17) }
        let row = try await withPool { pool, _ in
            try await pool.query(
                Statement(
                    """
                    SELECT $1::bool, $2::int4, $3::int8, $4::text, $5::bytea, $6::uuid, $7::timestamptz, $8::text[]
                    """),
                .bool(true), .int32(.min), .int64(.max), .text("Grüße, 世界 \u{1F511}\r\n"), .bytes(Array(0...255)),
                .uuid(uuid), .timestamp(-1), .textArray(["", "a", "NULL", "{\"x\",}", "ö"]))
        }[0]
        #expect(row.count == 8)
        #expect(try row.bool(0))
        #expect(try row.int32(1) == .min)
        #expect(try row.int64(1) == Int64(Int32.min))
        #expect(try row.int64(2) == .max)
        #expect(try row.text(3).utf8.elementsEqual("Grüße, 世界 \u{1F511}\r\n".utf8))
        #expect(try row.bytes(4) == Array(0...255))
        #expect(try row.uuid(5) == uuid)
        #expect(try row.timestamp(6) == PostgresTimestamp(microseconds: -1))
        #expect(try row.timestamp(6).flooredSeconds == -1)
        #expect(try row.textArray(7) == ["", "a", "NULL", "{\"x\",}", "ö"])
    }

    @Test func columnsAreFoundByTheirNames() async throws {
        let rows = try await withPool { pool, _ in
            try await pool.query(
                Statement("SELECT f.* FROM (SELECT 7 AS \"a b\", 'ö' AS text, n FROM generate_series(8, 9) AS n) AS f"))
        }
        // In any order, from any row.
        for name in ["a b", "text", "n", "a b", "a b", "n", "text"] {
            for row in rows { #expect(try row.column(name) == ["a b", "text", "n"].firstIndex(of: name)) }
            #expect(throws: PostgresError.unexpectedResult(column: -1)) { try rows[0].column("TEXT") }
        }
        #expect(try rows.map { try $0.int32($0.column("n")) } == [8, 9])
        #expect(try rows[1].text(rows[1].column("text")) == "ö")
    }

    @Test func emptyIsNotNull() async throws {
        let row = try await withPool { pool, _ in
            try await pool.query(
                Statement("SELECT $1::text, $2::bytea, $3::text[], $4::uuid[], $5::timestamptz[]"),
                .text(""), .bytes([]), .textArray([]), .uuidArray([]), .timestampArray([]))
        }[0]
        for column in 0..<5 { #expect(try row.isNull(column) == false) }
        #expect(try row.optionalText(0) == "")
        #expect(try row.optionalBytes(1) == [])
        #expect(try row.optionalTextArray(2) == [])
    }

    @Test func nullIsNullInEveryType() async throws {
        let row = try await withPool { pool, _ in
            try await pool.query(
                Statement(
                    """
                    SELECT $1::bool, $2::int4, $3::int8, $4::text, $5::bytea, $6::uuid, $7::timestamptz, $8::text[]
                    """),
                .null, .null, .optionalInt64(nil), .optionalText(nil), .optionalBytes(nil), .null, .null, .null)
        }[0]
        #expect(try row.isNull(0))
        #expect(try row.optionalInt32(1) == nil)
        #expect(try row.optionalInt64(2) == nil)
        #expect(try row.optionalText(3) == nil)
        #expect(try row.optionalBytes(4) == nil)
        #expect(try row.optionalUUID(5) == nil)
        #expect(try row.optionalTimestamp(6) == nil)
        #expect(try row.optionalTextArray(7) == nil)
        #expect(throws: PostgresError.unexpectedResult(column: 3)) { try row.text(3) }
    }

    @Test func arraysOfUUIDsAndTimesArriveInOrder() async throws {
        let ids = [[UInt8](repeating: 1, count: 16), [UInt8](repeating: 2, count: 16)]
        let rows = try await withPool { pool, _ in
            try await pool.query(
                Statement("SELECT * FROM unnest($1::uuid[], $2::timestamptz[])"),
                .uuidArray(ids), .timestampArray([0, 1_700_000_000_123_456]))
        }
        #expect(try rows.map { try $0.uuid(0) } == ids)
        #expect(try rows.map { try $0.timestamp(1).microseconds } == [0, 1_700_000_000_123_456])
    }

    @Test func textComesFromEverythingThatIsText() async throws {
        let row = try await withPool { pool, database in
            try await PrivateCluster.shared.psql(
                """
                CREATE TYPE mood AS ENUM ('calm'); CREATE DOMAIN word AS text; CREATE DOMAIN words AS text[];
                """, database: database)
            return try await pool.query(
                Statement(
                    """
                    SELECT 'calm'::mood, 'w'::word, 'v'::varchar(3), 'n'::name, '{"a":1}'::json,
                        ARRAY['w']::word[], ARRAY['w']::words, ARRAY['v']::varchar[]
                    """))
        }[0]
        #expect(try (0..<5).map { try row.text($0) } == ["calm", "w", "v", "n", "{\"a\":1}"])
        #expect(try (5..<8).map { try row.textArray($0) } == [["w"], ["w"], ["v"]])
    }

    @Test func wrongTypeOrColumnThrowsAndNeverTraps() async throws {
        let row = try await withPool { pool, _ in
            try await pool.query(
                Statement(
                    """
                    SELECT 1::int8, 'infinity'::timestamptz, '{{a},{b}}'::text[], '{NULL}'::text[], 1.5::numeric
                    """))
        }[0]
        #expect(throws: PostgresError.unexpectedResult(column: 0)) { try row.int32(0) }
        #expect(throws: PostgresError.unexpectedResult(column: 0)) { try row.text(0) }
        #expect(throws: PostgresError.unexpectedResult(column: 0)) { try row.uuid(0) }
        #expect(throws: PostgresError.unexpectedResult(column: 0)) { try row.textArray(0) }
        #expect(throws: PostgresError.unexpectedResult(column: 1)) { try row.timestamp(1) }
        #expect(throws: PostgresError.unexpectedResult(column: 2)) { try row.textArray(2) }
        #expect(throws: PostgresError.unexpectedResult(column: 3)) { try row.textArray(3) }
        #expect(throws: PostgresError.unexpectedResult(column: 4)) { try row.text(4) }
        #expect(throws: PostgresError.unexpectedResult(column: 5)) { try row.text(5) }
        #expect(throws: PostgresError.unexpectedResult(column: -1)) { try row.isNull(-1) }
    }

    @Test func valuesThatCannotTravelAreRefused() async throws {
        try await withPool { pool, _ in
            let nul = await failure { () throws(PostgresError) in
                try await pool.query(Statement("SELECT $1::text"), .text("a\0b"))
            }
            #expect(nul == .server(SQLState("22021"), message: "", constraint: nil))
            let early = await failure { () throws(PostgresError) in
                try await pool.query(Statement("SELECT $1::timestamptz"), .timestamp(.min))
            }
            #expect(early == .server(SQLState("22008"), message: "", constraint: nil))
            let answer = try await pool.query(Statement("SELECT 1")).count
            #expect(answer == 1)
        }
    }
}
