import PostgresClient
import PrivateCluster
import Testing

/// The rules for a call on a pool and on lanes.
@Suite(.timeLimit(.minutes(1))) struct CallTests {
    @Test(arguments: Engine.allCases)
    func lockThatIsNotHadInTimeIsTheServersAnswer(engine: Engine) async throws {
        try await engine.withExecutor({ $0.lockTimeout = .milliseconds(20) }) { executor, database in
            try await withGate(database) { gate in
                let error = await failure { () throws(PostgresError) in try await executor.query(Gate.pass, []) }
                let state = try #require(error?.state)
                #expect(state.isLockTimeout && state.isTransient && !state.isRetryable)
                try await gate.open()
            }
            #expect(executor.connectsTotal == 1)
        }
    }

    /// The sequence counts the attempts: it does not roll back.
    private static let failing = """
        CREATE TABLE item (n int);
        CREATE SEQUENCE attempt;
        CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF nextval('attempt') <= NEW.n THEN RAISE EXCEPTION 'again' USING ERRCODE = '40001'; END IF;
            RETURN NEW;
        END $$;
        CREATE TRIGGER fail BEFORE INSERT ON item FOR EACH ROW EXECUTE FUNCTION fail();
        """
    private static let insert = Statement("INSERT INTO item VALUES ($1)")

    /// A call that fails on a lane runs aside with as many attempts as on a pool, so it has one more.
    @Test(arguments: Engine.allCases, [(failures: 2, succeeds: true), (9, false)])
    func serializationFailureIsTriedAgain(engine: Engine, script: (failures: Int, succeeds: Bool)) async throws {
        try await engine.withExecutor { executor, database in
            try await PrivateCluster.shared.psql(Self.failing, database: database)
            let error = await failure { () throws(PostgresError) in
                try await executor.query(Self.insert, .int32(Int32(script.failures)))
            }
            #expect(
                error == (script.succeeds ? nil : .server(SQLState("40001"), message: "again", constraint: nil)))
            let attempts = try await executor.query(Statement("SELECT last_value FROM attempt"))[0].int64(0)
            #expect(attempts == (script.succeeds ? 3 : engine == .pool ? 4 : 5))
        }
    }

    @Test(arguments: Engine.allCases)
    func statementOutlivesAChangeOfTheSchema(engine: Engine) async throws {
        try await engine.withExecutor { executor, database in
            try await PrivateCluster.shared.psql(
                "CREATE TABLE item (n int); INSERT INTO item VALUES (1)", database: database)
            let all = Statement("SELECT * FROM item")
            let before = try await executor.query(all)[0]
            try await PrivateCluster.shared.psql("ALTER TABLE item ADD COLUMN t text DEFAULT 'new'", database: database)
            let after = try await executor.query(all)[0]
            #expect(before.count == 1)
            #expect(try after.text(1) == "new")
            #expect(executor.connectsTotal == 1)
        }
    }

    @Test(arguments: Engine.allCases)
    func serverThatStopsTakingWritesIsLeft(engine: Engine) async throws {
        try await engine.withExecutor { executor, database in
            try await PrivateCluster.shared.psql("CREATE TABLE item (n int)", database: database)
            _ = try await executor.query(Statement("SELECT set_config('default_transaction_read_only', 'on', false)"))
            let error = await failure { () throws(PostgresError) in
                try await executor.query(Self.insert, .int32(1))
            }
            let state = try #require(error?.state)
            #expect(state.isReadOnly && state.isTransient)
            _ = try await executor.query(Self.insert, .int32(1))
            #expect(executor.connectsTotal == 2)
        }
    }

    /// The server runs out of its limited space for temporary files.
    @Test(arguments: Engine.allCases)
    func serverWithoutSpaceIsAnOutageAndTheConnectionIsKept(engine: Engine) async throws {
        try await engine.withExecutor { executor, database in
            _ = try await executor.query(
                Statement("SELECT set_config('temp_file_limit', '64', false), set_config('work_mem', '64', false)"))
            let error = await failure { () throws(PostgresError) in
                try await executor.query(
                    Statement("SELECT max(n) FROM (SELECT n FROM generate_series(1, 200000) AS n ORDER BY -n) AS all_n")
                )
            }
            let state = try #require(error?.state)
            #expect(state == SQLState("53400") && state.isTransient)
            let rows = try await executor.query(Statement("SELECT 1"))
            #expect(rows.count == 1 && executor.connectsTotal == 1)
        }
    }

    @Test(arguments: Engine.allCases)
    func serverErrorsDoNotQuoteWhatWasSent(engine: Engine) async throws {
        try await engine.withExecutor { executor, _ in
            let error = await failure { () throws(PostgresError) in
                try await executor.query(Statement("SELECT $1::text::int"), .text("subject-4711"))
            }
            #expect(error == .server(SQLState("22P02"), message: "", constraint: nil))
        }
    }
}
