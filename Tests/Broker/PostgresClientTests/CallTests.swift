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
    func cancelledCallerLeavesTheQueueButNotAWriteInFlight(engine: Engine) async throws {
        try await engine.withExecutor { executor, database in
            try await PrivateCluster.shared.psql("CREATE TABLE item (n int)", database: database)
            try await withGate(database) { gate in
                let inFlight = executor.start(Statement("INSERT INTO item SELECT 1 FROM pg_advisory_xact_lock(7)"))
                try await gate.untilBlocked(1)
                let queued = await executor.queue(Statement("INSERT INTO item VALUES (2)"))
                let other = await executor.queue(Statement("INSERT INTO item VALUES (3)"))
                inFlight.cancel()
                queued.cancel()
                #expect(await queued.value.error == .unavailable(.cancelledWhileQueued))
                try await gate.open()
                _ = try await inFlight.value.get()
                _ = try await other.value.get()
            }
            let rows = try await executor.query(Statement("SELECT n FROM item ORDER BY n"))
            #expect(try rows.map { row throws(PostgresError) in try row.int32(0) } == [1, 3])
        }
    }

    @Test(arguments: Engine.allCases)
    func shutdownAnswersWhatIsInFlightAndRefusesTheRest(engine: Engine) async throws {
        try await engine.withExecutor(connections: 2) { executor, database in
            try await withGate(database) { gate in
                let inFlight = executor.start(Gate.pass)
                try await gate.untilBlocked(1)
                async let ended: Void = executor.shutdown()
                var refused: PostgresError?
                while refused == nil { refused = await executor.start(Statement("SELECT 1")).value.error }
                #expect(refused == .unavailable(.shuttingDown))
                try await gate.open()
                await ended
                #expect(try await inFlight.value.get().count == 1)
                #expect(executor.statistics.connections.connections == 0)
            }
        }
    }

    /// More connections than the cooperative pool has threads.
    @Test(arguments: Engine.allCases)
    func blockedCallsDoNotStopTheProgram(engine: Engine) async throws {
        try await engine.withExecutor(connections: 16) { executor, database in
            try await withGate(database) { gate in
                var calls: [PendingCall] = []
                for count: Int64 in 1...16 {
                    calls.append(executor.start(Gate.pass))
                    try await gate.untilBlocked(count)
                }
                try await gate.open()
                for call in calls { _ = try await call.value.get() }
            }
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
