import BrokerTesting
import RegistryConformance
import PostgresClient
import Testing

/// The conformance checks of every registry, on PostgreSQL.
@Suite("Grants in PostgreSQL", .serialized, .timeLimit(.minutes(5)))
struct PostgresGrantRegistryTests {
    private static let alone = Task { try await TestDatabase.shared() }
    private static let overLanes = Task { try await TestDatabase.shared(overLanes: true) }
    private static let gathered = Task { try await TestDatabase.shared(overLanes: true, gathersFrom: 1) }

    @Test(arguments: GrantRegistryConformance.checks)
    func conforms(check: GrantRegistryCheck) async throws {
        try await check.run(on: Self.alone.value)
    }

    /// Each call may share its transaction with other calls.
    @Test(arguments: GrantRegistryConformance.checks)
    func conformsOverLanes(check: GrantRegistryCheck) async throws {
        try await check.run(on: Self.overLanes.value)
    }

    /// Through the statements for many calls, with one call each.
    @Test(arguments: GrantRegistryConformance.checks)
    func conformsGathered(check: GrantRegistryCheck) async throws {
        try await check.run(on: Self.gathered.value)
    }

    @Test("SQL guards and Swift rules agree in random worlds")
    func property() async throws {
        try await TestDatabase.withFixture { try await Self.agrees($0, seed: 1) }
    }

    @Test("The guards of the statements for many calls agree with the rules")
    func propertyGathered() async throws {
        try await TestDatabase.withFixture(overLanes: true, gathersFrom: 1) { database in
            try await Self.agrees(database, seed: 1_000)
            let statistics = try #require(database.lanes).statistics
            #expect(statistics.gatheredCallsTotal > 30 && statistics.failedBatchesTotal == 0)
        }
    }

    private static func agrees(_ database: PostgresFixture, seed: UInt64) async throws {
        let met = try await GrantRegistryProperty.run(worlds: 400, seed: seed, on: database)
        let meant = [
            "exchange: granted", "refresh: advanced", "refresh: redelivered", "refresh: extended", "refresh: unsure",
        ]
        #expect(met.isSuperset(of: meant))
        #expect(met.count > 20, "only met \(met.sorted())")
    }
}
