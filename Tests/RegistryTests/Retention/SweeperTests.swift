import NativeSSO
import PostgresClient
import Registry
import Testing

@Suite("What a sweep removes", .serialized)
struct SweeperTests {
    private static let policy = RetentionPolicy(sessions: .days(90), audit: .days(400))

    static func sweeper(
        _ database: any StatementExecutor, batch: Int64 = 2, policy: RetentionPolicy = policy
    ) -> Sweeper {
        Sweeper(database: database, policy: policy, batch: batch, pause: .zero)
    }

    @Test("What has been over for long enough goes, and nothing else")
    func removesWhatIsOver() async throws {
        try await TestDatabase.withFixture { database in
            let world = try await World.make(in: database)
            try await database.run(RetentionSQL.addDead, [.int64(5)])
            try await database.run(RetentionSQL.addSession, [.text("expired lately"), .int32(90), .null])
            try await database.run(RetentionSQL.addSession, [.text("expired, ended lately"), .int32(100), .int32(1)])
            try await database.run(RetentionSQL.addSession, [.text("ended, not expired"), .int32(-30), .int32(100)])
            try await database.run(RetentionSQL.addSession, [.text("live"), .int32(-30), .null])
            try await database.run(RetentionSQL.addRevokedGrant, [.text("live"), .int32(100)])
            try await database.run(RetentionSQL.addRevokedGrant, [.text("live"), .int32(90)])
            for (name, days, isBlocked) in [
                ("forgotten", 100, false), ("fresh", 90, false), ("blocked", 100, true), ("live", 100, false),
            ] as [(String, Int32, Bool)] {
                try await database.run(RetentionSQL.addDevice, [.text(name), .int32(days), .bool(isBlocked)])
            }
            try await database.run(RetentionSQL.addProofs, [])

            let sweeper = Self.sweeper(database.service)
            let report = try #require(try await sweeper.sweep(unlessWithin: 0))
            #expect(report.isComplete)
            #expect(
                [report.sessions, report.grants, report.devices, report.proofs, report.logouts] == [5, 1, 1, 1, 0])
            #expect(
                try await database.run(RetentionSQL.sessions, []).map { try $0.text(0) }
                    == ["ended, not expired", "expired lately", "expired, ended lately", "live", "sid-1"])
            #expect(
                try await database.run(RetentionSQL.devices, []).map { try $0.text(0) } == ["blocked", "fresh", "live"])
            let grants = try await database.run(RetentionSQL.grants, [])[0]
            #expect(try [grants.int64(0), grants.int64(1)] == [2, 1])
            #expect(try await database.run(RetentionSQL.proofs, [])[0].int64(0) == 1)
            #expect(try await database.registry.rotate(world.rotation(generation: 1)).effect == .advanced)
        }
    }

    @Test("Grants that stay with their session, for a replay of theirs, are not read again and again")
    func passesNothingOver() async throws {
        try await TestDatabase.withFixture { database in
            _ = try await World.make(in: database)
            for _ in 0..<20 {
                try await database.run(RetentionSQL.addRevokedGrant, [.text("sid-1"), .int32(100)])
            }
            try await database.run(RetentionSQL.replay, [])
            try await database.run(RetentionSQL.addRevokedGrant, [.text("sid-1"), .int32(95)])
            try await database.withOwnConnection { connection in
                _ = try await connection.query(Statement("SET enable_seqscan = off"), [])
                let plan = try await connection.query(RetentionSQL.sweepablePlan, []).map { try $0.text(0) }
                    .joined(separator: "\n")
                #expect(plan.contains("sso_grant_sweepable") && plan.contains("rows=1 "), "\(plan)")
                #expect(!plan.contains("Removed"), "\(plan)")
            }
            let report = try #require(try await Self.sweeper(database.service).sweep(unlessWithin: 0))
            #expect(report.grants == 1)
        }
    }

    @Test("What it would remove is told beforehand, and left where it is")
    func foretells() async throws {
        try await TestDatabase.withFixture { database in
            _ = try await World.make(in: database)
            try await database.run(RetentionSQL.addDead, [.int64(3)])
            try await database.run(RetentionSQL.addOldMonths, [])
            let before = try await database.digestOfState()
            let sweeper = Self.sweeper(database.superuser)
            let prospect = try await sweeper.prospect()
            #expect(try await database.digestOfState() == before)
            #expect(prospect.auditMonths == ["audit_event_p2020_01", "audit_event_p2020_02"])
            #expect(prospect.sessions == 3)
            let report = try #require(try await sweeper.sweep(unlessWithin: 0))
            #expect(report == prospect)
            #expect(try await sweeper.prospect().isEmpty)
        }
    }

    @Test("A stolen password of the service cannot make it forget what it may still need")
    func keepsToItsBounds() async throws {
        try await TestDatabase.withFixture { database in
            _ = try await World.make(in: database)
            try await database.run(RetentionSQL.addSession, [.text("expired lately"), .int32(90), .null])
            try await database.run(RetentionSQL.addSession, [.text("ended lately"), .int32(100), .int32(0)])
            let greedy = Self.sweeper(database.service, policy: RetentionPolicy(sessions: 0, audit: 0))
            let report = try #require(try await greedy.sweep(unlessWithin: 0))
            #expect(report.isComplete && report.isEmpty)
        }
    }

    @Test("Old months of the audit are emptied, coming ones are there before they are needed")
    func rollsTheAuditOn() async throws {
        try await TestDatabase.withFixture { database in
            try await database.run(RetentionSQL.addOldMonths, [])
            try await database.run(RetentionSQL.dropComingMonth, [])
            #expect(try await database.run(RetentionSQL.preparedMonths, [])[0].int64(0) == 2)
            let report = try #require(try await Self.sweeper(database.service).sweep(unlessWithin: 0))
            #expect(report.auditMonths == ["audit_event_p2020_01", "audit_event_p2020_02"])
            #expect(try await database.run(RetentionSQL.auditKinds, []).map { try $0.text(0) } == ["new"])
            #expect(try await database.run(RetentionSQL.preparedMonths, [])[0].int64(0) == 3)
        }
    }

    @Test("Of many brokers one sweeps, and none sooner than the interval")
    func oneSweepAnInterval() async throws {
        try await TestDatabase.withFixture { database in
            let (one, another) = (Self.sweeper(database.service), Self.sweeper(database.superuser))
            let first = try await one.sweep(unlessWithin: .hours(1))
            let tooSoon = try await another.sweep(unlessWithin: .hours(1))
            let forced = try await another.sweep(unlessWithin: 0)
            #expect(first != nil && tooSoon == nil && forced != nil)
        }
    }
}
