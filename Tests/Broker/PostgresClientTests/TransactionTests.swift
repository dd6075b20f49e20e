import PostgresClient
import PrivateCluster
import Testing

@Suite(.timeLimit(.minutes(1))) struct TransactionTests {
    private static let insert = Statement("INSERT INTO item VALUES ($1)")
    private static let count = Statement("SELECT count(*) FROM item")
    private static let schema = "CREATE TABLE item (n int CONSTRAINT item_unique UNIQUE DEFERRABLE INITIALLY DEFERRED)"

    @Test func bodyThatReturnsIsCommittedAndBodyThatThrowsIsNot() async throws {
        try await withPool { pool, database in
            try await PrivateCluster.shared.psql(Self.schema, database: database)
            let kept = try await pool.withTransaction { transaction throws(PostgresError) in
                _ = try transaction.query(Self.insert, [.int32(1)])
                return try transaction.query(Self.count).count
            }
            #expect(kept == 1)
            let thrown = await failure { () throws(PostgresError) in
                try await pool.withTransaction { transaction throws(PostgresError) in
                    _ = try transaction.query(Self.insert, [.int32(2)])
                    throw .unexpectedResult(column: 7)
                }
            }
            #expect(thrown == .unexpectedResult(column: 7))
            let answer = try await pool.query(Self.count)[0].int64(0)
            #expect(answer == 1)
        }
    }

    @Test func errorThatTheBodySwallowsStillRollsBack() async throws {
        try await withPool(size: 1) { pool, database in
            try await PrivateCluster.shared.psql(Self.schema, database: database)
            let error = await failure { () throws(PostgresError) in
                try await pool.withTransaction { transaction throws(PostgresError) in
                    _ = try transaction.query(Self.insert, [.int32(1)])
                    _ = try? transaction.query(Statement("SELECT 1/0"))
                }
            }
            #expect(error?.state == SQLState("25P02"))
            let answer = try await pool.query(Self.count)[0].int64(0)
            #expect(answer == 0)
        }
    }

    @Test func constraintThatFailsAtCommitIsARefusalByName() async throws {
        try await withPool { pool, database in
            try await PrivateCluster.shared.psql(Self.schema, database: database)
            let error = await failure { () throws(PostgresError) in
                try await pool.withTransaction { transaction throws(PostgresError) in
                    _ = try transaction.query(Self.insert, [.int32(1)])
                    _ = try transaction.query(Self.insert, [.int32(1)])
                }
            }
            guard case .server(let state, let message, let constraint) = error else {
                return #expect(Bool(false), "\(String(describing: error))")
            }
            #expect(state.isConstraintViolation)
            #expect(constraint == "item_unique")
            #expect(!message.contains("(n)=(1)"))
        }
    }

    @Test func scriptRunsWholeOrNotAtAll() async throws {
        try await withPool { pool, database in
            try await PrivateCluster.shared.psql(Self.schema, database: database)
            try await pool.withTransaction { transaction throws(PostgresError) in
                try transaction.executeScript(Array("INSERT INTO item VALUES (1); INSERT INTO item VALUES (2);".utf8))
            }
            let failing = await failure { () throws(PostgresError) in
                try await pool.withTransaction { transaction throws(PostgresError) in
                    try transaction.executeScript(Array("INSERT INTO item VALUES (3); SELECT nonsense;".utf8))
                }
            }
            #expect(failing?.state == SQLState("42703"))
            let ending = await failure { () throws(PostgresError) in
                try await pool.withTransaction { transaction throws(PostgresError) in
                    try transaction.executeScript(Array("ROLLBACK; BEGIN; ROLLBACK".utf8))
                }
            }
            #expect(ending?.state == SQLState("2D000"))
            let answer = try await pool.query(Self.count)[0].int64(0)
            #expect(answer == 2)
        }
    }
}
