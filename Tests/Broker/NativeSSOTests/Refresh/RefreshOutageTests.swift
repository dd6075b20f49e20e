import BrokerTesting
import RegistryConformance
@testable import NativeSSO
import Testing

/// An outage is never a refusal. The broker issues nothing, and the retry gets the successor.
@Suite struct RefreshOutageTests {
    private static let faults = PortFault.ofKeysAndRegistry

    @Test(arguments: faults.indices) func aPortGoesAway(_ index: Int) async throws {
        let fault = Self.faults[index]
        let scenario = try RefreshScenario()
        let broker = try await Broker(scenario)
        let request = try await scenario.request(keys: broker.keys)
        fault.happen(broker)
        #expect(await broker.failure(of: request) == fault.failure())
        #expect(broker.registry.rotations.count == (fault.isAsked ? 1 : 0))
        #expect(broker.signer.count == 0)
    }

    @Test func noKeyOfTheClientsAlgorithm() async throws {
        var scenario = try RefreshScenario()
        let broker = try await Broker(scenario)
        scenario.client.accessTokenAlgorithm = .rs256
        #expect(await broker.failure(of: try await scenario.request(keys: broker.keys)) == .outage(.keyModule))
        #expect(broker.registry.rotations.isEmpty)
    }

    @Test func theSigner() async throws {
        let scenario = try RefreshScenario()
        let broker = try await Broker(scenario)
        let request = try await scenario.request(keys: broker.keys)
        broker.signer.fail(with: PortFault.keyModule, isKnown: false)
        #expect(await broker.failure(of: request) == .outage(.keyModule))
        // Longer than every grace period.
        broker.pass(.minutes(11))
        #expect(await broker.failure(of: request) == .outage(.keyModule))
        broker.signer.fail(with: nil)
        // The first try rotated the token, but its answer was lost.
        let answer = try await broker.refresh(request)
        var next = scenario
        next.generation = 6
        let successor = RefreshToken(grantID: next.grantID, generation: next.generation)
        #expect(try await answer.refreshToken == successor.encoded(by: broker.keys).value)
        #expect(try await broker.refresh(next.request(keys: broker.keys)).refreshToken != answer.refreshToken)
    }
}
