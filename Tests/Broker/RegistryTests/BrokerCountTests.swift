import BrokerTesting
import NativeSSO
import PostgresClient
import PrivateCluster
import Registry
import Testing

/// What `count_broker` notes of the service.
@Suite(.timeLimit(.minutes(2))) struct BrokerCountTests {
    private static let lock = Statement("SELECT 1 FROM native_sso.service_count FOR UPDATE")

    private func count(_ database: PostgresFixture, serves: Bool = true, known: Int64 = 0) async throws -> Int64? {
        try await database.service.query(
            BrokerCount.count, [.uuid(UniqueID.random().octets), .int64(known), .bool(serves)]
        ).first?.optionalInt64(0)
    }

    private func last(_ interval: String, _ database: PostgresFixture) async throws {
        try await database.cluster.psql(
            "UPDATE native_sso.service_count SET counted_at = \(interval)", database: database.name)
    }

    /// How many gaps there are, and whether the newest count is of this second or the one before.
    private func look(_ database: PostgresFixture) async throws -> String {
        try await database.cluster.psql(
            """
            SELECT (SELECT count(*) FROM native_sso.service_gap),
                (SELECT counted_at > clock_timestamp() - interval '2 seconds' FROM native_sso.service_count)
            """, database: database.name)
    }

    @Test func `a gap is a time of more than 6 s without a count of a broker that serves`() async throws {
        try await TestDatabase.withFixture { database in
            for (before, serves, seen) in [
                ("'-infinity'", false, "0|f"), ("'-infinity'", true, "0|t"),
                ("clock_timestamp() - interval '4 seconds'", true, "0|t"),
                ("clock_timestamp() - interval '7 seconds'", false, "0|f"),
                ("clock_timestamp() - interval '7 seconds'", true, "1|t"),
                // The clock of another server may be behind.
                ("clock_timestamp() + interval '1 hour'", true, "1|t"),
            ] {
                try await last(before, database)
                #expect(try await count(database, serves: serves) == 1)
                #expect(try await look(database) == seen + "\n", "\(before) \(serves)")
            }
            try await last("clock_timestamp() - interval '1 hour'", database)
            #expect(try await count(database, known: 5) == nil)
            #expect(try await look(database) == "1|f\n")
            #expect(try await count(database) == 1)
            #expect(try await look(database) == "2|t\n")
            let gap = try await database.cluster.psql(
                "SELECT max(ended_at - began_at) BETWEEN '59 minutes' AND '61 minutes' FROM native_sso.service_gap",
                database: database.name)
            #expect(gap == "t\n")
        }
    }

    /// Neither waits for the other, and the one that has the row notes the gap.
    @Test func `of two brokers that count at once, one is enough`() async throws {
        try await TestDatabase.withFixture { database in
            try await last("clock_timestamp() - interval '1 hour'", database)
            let seen = try await database.holding(
                untilItReturns: true,
                { transaction throws(PostgresError) in _ = try transaction.query(Self.lock) },
                { [self] in (try await count(database), try await look(database)) })
            #expect(seen.value == (1, "0|f\n") && seen.waiting == nil)
            #expect(try await count(database) == 1)
            #expect(try await look(database) == "1|t\n")
        }
    }
}
