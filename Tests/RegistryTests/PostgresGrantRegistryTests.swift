import BrokerTesting
import Testing

/// What every registry must do, done by PostgreSQL.
@Suite("Grants in PostgreSQL", .serialized)
struct PostgresGrantRegistryTests {
    @Test(arguments: GrantRegistryConformance.checks)
    func conforms(check: GrantRegistryCheck) async throws {
        try await TestDatabase.withFixture { try await check.run(on: $0) }
    }

    /// In one transaction with whatever others there are.
    @Test(arguments: GrantRegistryConformance.checks)
    func conformsOverLanes(check: GrantRegistryCheck) async throws {
        try await TestDatabase.withFixture(overLanes: true) { try await check.run(on: $0) }
    }

    @Test("The statements' guards and the rules never disagree, over random worlds")
    func property() async throws {
        try await TestDatabase.withFixture { database in
            let met = try await GrantRegistryProperty.run(worlds: 400, seed: 1) { database }
            #expect(met.isSuperset(of: ["exchange: granted", "refresh: advanced", "refresh: redelivered"]))
            #expect(met.count > 20, "only met \(met.sorted())")
        }
    }
}
