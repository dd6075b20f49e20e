import BrokerTesting
import NativeSSO
import PostgresClient
import Registry
import Testing

@Suite("Single use of assertions", .serialized)
struct PostgresAssertionRegisterTests {
    private static let client = ClientID(validated: "server")

    private static func now(_ database: PostgresFixture) async throws -> UnixTime {
        try await Administration(pool: database.superuser).now()
    }

    @Test("The second use is refused; another client's equal jti is not")
    func once() async throws {
        try await TestDatabase.withFixture { database in
            let register = PostgresAssertionRegister(database: database.service)
            let until = try await Self.now(database).adding(.minutes(5))
            let assertion = AssertionID(client: Self.client, jti: "one")
            #expect(try await register.use(assertion, until: until))
            #expect(try await !register.use(assertion, until: until))
            #expect(try await !register.use(assertion, until: until.adding(.minutes(5))))
            #expect(try await register.use(AssertionID(client: Self.client, jti: "two"), until: until))
            let other = AssertionID(client: ClientID(validated: "server2"), jti: "one")
            #expect(try await register.use(other, until: until))
        }
    }

    @Test("Of forty concurrent uses on two replicas, one succeeds")
    func race() async throws {
        try await TestDatabase.withFixture { database in
            let configuration = try TestDatabase.configuration(
                database.cluster, database: database.name, user: TestDatabase.serviceRole, connections: 1)
            let replicas = [BatchingLanes(configuration), BatchingLanes(configuration)]
            let until = try await Self.now(database).adding(.minutes(5))
            for round in 0..<5 {
                let assertion = AssertionID(client: Self.client, jti: "round \(round)")
                let uses = try await atOnce(40) { number in
                    let register = PostgresAssertionRegister(database: replicas[number % 2])
                    return try await register.use(assertion, until: until)
                }
                #expect(uses.count { $0 } == 1)
            }
            for replica in replicas { await replica.shutdown() }
        }
    }

    @Test("A row stays while its assertion is valid, and is swept an hour later")
    func swept() async throws {
        try await TestDatabase.withFixture { database in
            let register = PostgresAssertionRegister(database: database.service)
            let now = try await Self.now(database)
            let old = AssertionID(client: Self.client, jti: "old")
            let fresh = AssertionID(client: Self.client, jti: "fresh")
            #expect(try await register.use(old, until: now))
            try await database.run(Self.ages, [])
            #expect(try await register.use(fresh, until: UnixTime(seconds: now.seconds - 60)))
            let report = try #require(try await SweeperTests.sweeper(database.service).sweep(unlessWithin: 0))
            #expect(report.proofs == 1)
            #expect(try await !register.use(fresh, until: now))
            #expect(try await register.use(old, until: now))
        }
    }

    /// The row of the assertion may already be deleted, so its use is unknown.
    @Test("A broker whose clock is far behind gets an outage")
    func clocksApart() async throws {
        try await TestDatabase.withFixture { database in
            let register = PostgresAssertionRegister(database: database.service)
            let now = try await Self.now(database)
            let assertion = AssertionID(client: Self.client, jti: "late")
            await expectOutage { () async throws(PortError) in
                try await register.use(assertion, until: UnixTime(seconds: now.seconds - 31 * 60))
            }
            #expect(try await register.use(assertion, until: UnixTime(seconds: now.seconds - 29 * 60)))
        }
    }

    @Test("A stored assertion expires within an hour, even if a caller asks for longer")
    func bounded() async throws {
        try await TestDatabase.withFixture { database in
            let register = PostgresAssertionRegister(database: database.service)
            let now = try await Self.now(database)
            #expect(
                try await register.use(AssertionID(client: Self.client, jti: "x"), until: now.adding(.days(10_000))))
            let row = try #require(try await database.run(Self.longest, []).first)
            #expect(try (3601...7200).contains(row.int64(0)))
        }
    }

    @Test("An unavailable database is an outage")
    func outage() async throws {
        try await TestDatabase.withFixture { database in
            let register = PostgresAssertionRegister(database: database.service)
            await database.service.shutdown()
            await expectOutage { () async throws(PortError) in
                try await register.use(
                    AssertionID(client: Self.client, jti: "x"), until: UnixTime(seconds: 1_795_000_000))
            }
        }
    }

    private func expectOutage(_ use: () async throws(PortError) -> Bool) async {
        do throws(PortError) {
            _ = try await use()
            Issue.record("it answered")
        } catch {
            guard case .outage(let outage) = error else {
                Issue.record("\(error)")
                return
            }
            #expect(outage.component == .database)
        }
    }

    private static let ages = Statement(
        "UPDATE native_sso.used_proof SET expires_at = expires_at - interval '61 minutes'")

    private static let longest = Statement(
        "SELECT extract(epoch FROM max(expires_at) - now())::bigint FROM native_sso.used_proof")
}
