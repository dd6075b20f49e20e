import NativeSSO
import PostgresClient
import Registry
import Testing

@Suite("Retention sweeps", .serialized)
struct SweeperTests {
    static func sweeper(_ database: any StatementExecutor, batch: Int64 = 2) -> Sweeper {
        Sweeper(database: database, batch: batch, pause: .zero)
    }

    @Test("A sweep deletes exactly the records whose retention has passed")
    func removesWhatIsOver() async throws {
        try await TestDatabase.withWorld { database, world in
            try await database.run(RetentionSQL.addDead, [.int64(5)])
            try await database.run(RetentionSQL.addFuture, [])
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
                [report.sessions, report.grants, report.devices, report.proofs, report.logouts] == [6, 1, 1, 1, 0])
            #expect(
                try await SessionNames.names(database.run(RetentionSQL.sessions, []))
                    == ["ended, not expired", "expired lately", "expired, ended lately", "live", "sid-1"])
            #expect(
                try await database.run(RetentionSQL.devices, []).map { try $0.text(0) } == ["blocked", "fresh", "live"])
            let grants = try await database.run(RetentionSQL.grants, [])[0]
            #expect(try [grants.int64(0), grants.int64(1)] == [2, 1])
            #expect(try await database.run(RetentionSQL.proofs, [])[0].int64(0) == 1)
            #expect(try await database.registry.rotate(world.rotation(generation: 1)).effect == .advanced)
        }
    }

    @Test("A sweep does not read replayed grants that stay with their session")
    func passesNothingOver() async throws {
        try await TestDatabase.withWorld { database, _ in
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

    @Test("A preview reports what a sweep would delete, and deletes nothing")
    func foretells() async throws {
        try await TestDatabase.withWorld { database, _ in
            try await database.run(RetentionSQL.addDead, [.int64(3)])
            try await database.run(RetentionSQL.addOldMonths, [])
            try await database.run(RetentionSQL.dropComingMonth, [])
            #expect(try await database.run(RetentionSQL.preparedMonths, [])[0].int64(0) == 2)
            let before = try await database.digestOfState()
            let sweeper = Self.sweeper(database.superuser)
            let prospect = try await sweeper.prospect()
            #expect(try await database.digestOfState() == before)
            #expect(prospect.auditMonths == 2 && prospect.sessions == 3)
            let report = try #require(try await sweeper.sweep(unlessWithin: 0))
            #expect(report == prospect)
            #expect(try await sweeper.prospect().isEmpty)
            // Old months of the audit are deleted, and coming months are made in advance.
            #expect(try await database.run(RetentionSQL.auditKinds, []).map { try $0.text(0) } == ["new"])
            #expect(try await database.run(RetentionSQL.preparedMonths, [])[0].int64(0) == 3)
        }
    }

    @Test("The administrator's retention periods apply")
    func keepsToThePolicy() async throws {
        try await TestDatabase.withWorld { database, _ in
            try await database.run(RetentionSQL.addDead, [.int64(3)])
            try await database.run(RetentionSQL.addOldMonths, [])
            for statement in [RetentionSQL.retainSessions, RetentionSQL.retainAudit] {
                try await database.run(statement, [.int32(3650)])
            }
            let patient = try #require(try await Self.sweeper(database.service).sweep(unlessWithin: 0))
            #expect(patient.isComplete && patient.isEmpty)
            try await database.run(RetentionSQL.retainSessions, [.int32(95)])
            #expect(try await Self.sweeper(database.service).sweep(unlessWithin: 0)?.sessions == 3)
        }
    }

    @Test("The service passes a batch size and receives counts")
    func returnsCounts() async throws {
        try await TestDatabase.withFixture { database in
            let interface = try await database.run(RetentionSQL.sweepInterface, []).map { try $0.text(0) }
            #expect(interface == ["p_limit bigint: looked_at bigint, removed bigint"])
        }
    }

    @Test("A sweep continues where the last one stopped, and restarts after its end")
    func keepsItsCursor() async throws {
        try await TestDatabase.withFixture { database in
            for name in ["forgotten", "fresh", "live"] {
                try await database.run(RetentionSQL.addDevice, [.text(name), .int32(1), .bool(false)])
            }
            var cursors: Set<String> = []
            for _ in 0..<4 {
                cursors.insert(try await database.run(RetentionSQL.cursor, [])[0].text(0))
                _ = try await database.service.query(RetentionSQL.sweepDevicesByOne, [])
            }
            #expect(cursors.count == 4 && cursors.contains(""))
            #expect(try await database.run(RetentionSQL.cursor, [])[0].text(0) == "")
        }
    }

    /// The client must show this key on the device for as long as the login lives.
    @Test("A device stays while a grant of a live login has a bound key there")
    func keepsBoundKeys() async throws {
        try await TestDatabase.withWorld { database, _ in
            try await database.run(RetentionSQL.addSession, [.text("dead"), .int32(100), .null])
            let key = PostgresValue.text(String(repeating: "k", count: 43))
            try await database.run(RetentionSQL.addSession, [.text("live"), .int32(-30), .null])
            for (device, session, key, revoked) in [
                ("second", "live", key, .null), ("revoked", "live", key, .int32(1)),
                ("unbound", "live", .null, .int32(1)), ("forgotten", "dead", key, .null),
            ] as [(String, String, PostgresValue, PostgresValue)] {
                try await database.run(RetentionSQL.addDevice, [.text(device), .int32(100), .bool(false)])
                try await database.run(RetentionSQL.addBoundGrant, [.text(session), .text(device), key, revoked])
            }
            #expect(try await Self.sweeper(database.superuser).prospect().devices == 2)
            #expect(try await Self.sweeper(database.service).sweep(unlessWithin: 0)?.devices == 2)
            #expect(
                try await database.run(RetentionSQL.devices, []).map { try $0.text(0) } == ["revoked", "second"])
        }
    }

    @Test(
        "One broker sweeps per interval, and a stolen service password does not put off the sweeps",
        arguments: [0, -1] as [Int64])
    func unrecordedSweep(interval: Int64) async throws {
        try await TestDatabase.withFixture { database in
            let sweeper = Self.sweeper(database.service)
            let thief = try await sweeper.sweep(unlessWithin: Seconds(interval))
            let broker = try await sweeper.sweep(unlessWithin: .hours(1))
            // An hour at least, whatever the caller says.
            let early = try await sweeper.sweep(unlessWithin: 1)
            #expect(thief != nil && broker != nil && early == nil)
        }
    }
}
