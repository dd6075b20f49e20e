import BrokerTesting
import NativeSSO
import Testing

/// The registry in memory keeps the contract that PostgreSQL keeps, and never disagrees with the rules.
@Suite struct InMemoryGrantRegistryTests {
    @Test(arguments: GrantRegistryConformance.checks)
    func conforms(_ check: GrantRegistryCheck) async throws {
        try await check.run(on: InMemoryGrantRegistry())
    }

    @Test func agreesWithTheRules() async throws {
        let met = try await GrantRegistryProperty.run(worlds: 4_000, seed: 1) { InMemoryGrantRegistry() }
        // Form and shape of the id_token never reach a registry; everything else must have been met.
        let exchange = ExchangeRefusal.allCases.map(\.reason).filter { !$0.hasPrefix("subject_token_") }
        let refresh = RefreshRefusal.allCases.filter { $0 != .tokenNotOurs }.map(\.rawValue)
        let wanted =
            ["exchange: granted", "exchange: subject_token_too_old", "exchange: subject_token_expired"]
            + exchange.filter { $0 != ExchangeRefusal.mayActOther.reason }.map { "exchange: \($0)" }
            + ["refresh: advanced", "refresh: redelivered"] + refresh.map { "refresh: \($0)" }
        #expect(met == Set(wanted))
    }
}
