import BrokerTesting
import RegistryConformance
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
        // The broker alone decides `mayActOther`, `tokenNotOurs` and `subjectAmbiguous`. The run must meet every other
        // outcome.
        let exchange = ExchangeRefusal.allCases.filter { $0 != .mayActOther }.map { "exchange: \($0)" }
        let refresh = RefreshRefusal.allCases.filter { ![.tokenNotOurs, .subjectAmbiguous].contains($0) }
            .map { "refresh: \($0)" }
        let wanted = ["exchange: granted", "refresh: advanced", "refresh: redelivered"] + exchange + refresh
        #expect(met == Set(wanted))
    }
}
