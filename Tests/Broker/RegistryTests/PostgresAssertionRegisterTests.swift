import BrokerTesting
import NativeSSO
import PostgresClient
import Registry
import Testing

@Suite("Single use of assertions", .serialized)
struct PostgresAssertionRegisterTests {
    private static let client = ClientID(validated: "server")

    private static func now(_ database: PostgresFixture) async throws -> UnixTime {
        try await database.administration.now()
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

    /// The row of the assertion may already be deleted, so its use is unknown.
    @Test("A broker whose clock is far behind gets an outage")
    func clocksApart() async throws {
        try await TestDatabase.withFixture { database in
            let register = PostgresAssertionRegister(database: database.service)
            let now = try await Self.now(database)
            let assertion = AssertionID(client: Self.client, jti: "late")
            let error = await #expect(throws: PortError.self) {
                try await register.use(assertion, until: UnixTime(seconds: now.seconds - 31 * 60))
            }
            #expect(error?.asOutage?.component == .database)
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

    private static let longest = Statement(
        "SELECT extract(epoch FROM max(expires_at) - now())::bigint FROM native_sso.used_proof")
}
