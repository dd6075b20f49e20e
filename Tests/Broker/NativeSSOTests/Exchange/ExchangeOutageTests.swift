import BrokerTesting
import RegistryConformance
import NativeSSO
import Testing

/// An outage is never a refusal, and the broker issues nothing.
@Suite struct ExchangeOutageTests {
    private static let faults =
        [
            PortFault(.identityProvider) { $0.idTokens.answer(.outage) },
            PortFault(.database) { $0.directory.fail(with: PortFault.database) },
            PortFault(nil) { $0.directory.fail(with: PortFault.defect) },
        ] + PortFault.ofKeysAndRegistry

    @Test(arguments: faults.indices) func aPortGoesAway(_ index: Int) async throws {
        let fault = Self.faults[index]
        let scenario = try ExchangeScenario()
        let broker = try await Broker(scenario)
        fault.happen(broker)
        #expect(await broker.failure(of: scenario.request) == fault.failure())
        if !fault.isAsked { #expect(broker.registry.admissions.isEmpty) }
        #expect(broker.signer.count == 0)
    }

    /// The grant is already recorded, and the retry succeeds.
    @Test func theSigner() async throws {
        let scenario = try ExchangeScenario()
        let broker = try await Broker(scenario)
        broker.signer.fail(with: PortFault.keyModule, isKnown: false)
        #expect(await broker.failure(of: scenario.request) == .outage(.keyModule))
        broker.signer.fail(with: PortFault.defect, isKnown: false)
        #expect(await broker.failure(of: scenario.request) == .broken)
        broker.signer.fail(with: nil)
        #expect(try await broker.exchange(scenario.request).expiresIn == 300)
    }

    /// While the registry is away, a request that it would refuse gets an outage: no app may lose its login.
    @Test func anOutageIsNeverARefusal() async throws {
        for refusal in ExchangeRefusal.allCases
        where ExchangeScenario.step(of: refusal) >= ExchangeScenario.step(of: .assertionReplayed) {
            var scenario = try ExchangeScenario(profile: .deviceSecret)
            scenario.spoil(for: refusal)
            let broker = try await Broker(scenario)
            broker.registry.fail(with: PortFault.database)
            #expect(await broker.failure(of: scenario.request) == .outage(.database))
        }
    }
}
