import BrokerTesting
import RegistryConformance
import NativeSSO
import Testing

/// An outage is never a refusal, and the broker issues nothing.
@Suite struct ExchangeOutageTests {
    private static let database = PortError.outage(Outage(.database, "away"))
    private static let keyModule = PortError.outage(Outage(.keyModule, "away"))
    private static let defect = PortError.broken("a defect")

    private struct Fault: Sendable {
        let failure: Failure<ExchangeRefusal>
        /// Whether the registry was asked.
        var isAsked = false
        let happen: @Sendable (Broker) -> Void
    }

    private static let faults = [
        Fault(failure: .outage(.identityProvider)) { $0.idTokens.answer(.outage) },
        Fault(failure: .outage(.database)) { $0.directory.fail(with: database) },
        Fault(failure: .broken) { $0.directory.fail(with: defect) },
        Fault(failure: .outage(.keyModule)) { $0.keys.fail(with: keyModule) },
        Fault(failure: .broken) { $0.keys.fail(with: defect) },
        Fault(failure: .outage(.keyModule)) { $0.keys.suspendIssuing(with: keyModule) },
        // A known outage of the key module writes nothing.
        Fault(failure: .outage(.keyModule)) { $0.signer.fail(with: keyModule) },
        Fault(failure: .outage(.database), isAsked: true) { $0.registry.fail(with: database) },
        Fault(failure: .broken, isAsked: true) { $0.registry.fail(with: defect) },
    ]

    @Test(arguments: faults.indices) func aPortGoesAway(_ index: Int) async throws {
        let fault = Self.faults[index]
        let scenario = try ExchangeScenario()
        let broker = try await Broker(scenario)
        fault.happen(broker)
        #expect(await broker.failure(of: scenario.request) == fault.failure)
        if !fault.isAsked { #expect(broker.registry.admissions.isEmpty) }
        #expect(broker.signer.count == 0)
    }

    /// The grant is already recorded, and the retry succeeds.
    @Test func theSigner() async throws {
        let scenario = try ExchangeScenario()
        let broker = try await Broker(scenario)
        broker.signer.fail(with: Self.keyModule, isKnown: false)
        #expect(await broker.failure(of: scenario.request) == .outage(.keyModule))
        broker.signer.fail(with: Self.defect, isKnown: false)
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
            broker.registry.fail(with: Self.database)
            #expect(await broker.failure(of: scenario.request) == .outage(.database))
        }
    }
}
