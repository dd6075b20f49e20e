import BrokerTesting
import NativeSSO
import PostgresClient
import Registry
import Testing

@Suite("A sweep beside other calls", .serialized)
struct ConcurrentSweepTests {
    @Test("Exchanges and refreshes do not wait for an open sweep")
    func nothingWaits() async throws {
        try await TestDatabase.withWorld { database, world in
            try await database.run(RetentionSQL.addDead, [.int64(50)])
            try await database.run(RetentionSQL.addDevice, [.text("forgotten"), .int32(100), .bool(false)])
            try await database.run(RetentionSQL.addOldMonths, [])
            try await database.run(RetentionSQL.dropComingMonth, [])
            _ = try await database.holding(untilItReturns: true) { transaction throws(PostgresError) in
                for part in [
                    RetentionSQL.prepareMonths, RetentionSQL.sweepSessions, RetentionSQL.sweepDevices,
                    RetentionSQL.sweepGrants, RetentionSQL.sweepAudit,
                ] {
                    _ = try transaction.query(part)
                }
            } _: {
                // A call that had to wait would fail: the service's lock_timeout is shorter than this test.
                for generation in stride(from: Int32(1), to: 21, by: 2) {
                    let facts = try await database.registry.rotate(world.rotation(generation: generation))
                    #expect(facts.effect == .advanced)
                    #expect(try await database.registry.admit(world.admission()).grant != nil)
                }
                #expect(try await database.registry.admit(world.firstAdmission(sid: "sid-2")).grant != nil)
                #expect(try await database.run(RetentionSQL.waiting, [])[0].int64(0) == 0)
            }
            #expect(try await database.run(RetentionSQL.deadSessions, [])[0].int64(0) == 0)
        }
    }

    @Test("A sweep skips locked rows and deletes them the next time")
    func sweepDoesNotWait() async throws {
        try await TestDatabase.withWorld { database, _ in
            try await database.run(RetentionSQL.addDead, [.int64(10)])
            _ = try await database.holding(untilItReturns: true) { transaction throws(PostgresError) in
                _ = try transaction.query(RetentionSQL.holdDead)
            } _: {
                let report = try #require(try await SweeperTests.sweeper(database.service).sweep(unlessWithin: 0))
                #expect(report.isComplete && report.sessions == 9)
            }
            #expect(try await SweeperTests.sweeper(database.service).sweep(unlessWithin: 0)?.sessions == 1)
        }
    }

    @Test("A second sweep returns at once while one runs")
    func oneAtATime() async throws {
        try await TestDatabase.withWorld { database, _ in
            try await database.run(RetentionSQL.addDead, [.int64(10)])
            _ = try await database.holding(untilItReturns: true) { transaction throws(PostgresError) in
                _ = try transaction.query(RetentionSQL.sweepProofsFirst)
            } _: {
                let report = try await SweeperTests.sweeper(database.service).sweep(unlessWithin: 0)
                #expect(report == nil)
                let left = try await database.run(RetentionSQL.deadSessions, [])[0].int64(0)
                #expect(left == 10)
            }
        }
    }

    @Test("After a killed sweep, the next one finishes and live rows stay")
    func killed() async throws {
        try await TestDatabase.withWorld { database, _ in
            try await database.run(RetentionSQL.addDead, [.int64(400)])
            let sweeping = Task { try await SweeperTests.sweeper(database.service, batch: 1).sweep(unlessWithin: 0) }
            while try await database.run(RetentionSQL.deadSessions, [])[0].int64(0) > 390 { await Task.yield() }
            _ = try await database.run(RetentionSQL.killService, [])
            // Between two batches it got another connection; within a batch it failed. Either way:
            sweeping.cancel()
            _ = await sweeping.result
            let left = try await database.run(RetentionSQL.deadSessions, [])[0].int64(0)
            #expect(left > 0 && left <= 390)
            let next = SweeperTests.sweeper(database.superuser)
            let report = try #require(try await next.sweep(unlessWithin: 0))
            #expect(report.isComplete && report.sessions == left)
            let sessions = try await SessionNames.names(database.run(RetentionSQL.sessions, []))
            #expect(sessions == ["sid-1"])
            let grants = try await database.run(RetentionSQL.grants, [])[0]
            #expect(try [grants.int64(0), grants.int64(1)] == [1, 0])
        }
    }
}
