import BrokerTesting
import RegistryConformance
import NativeSSO
import Testing

/// The broker counts a use after it verified the token and before it asks the registry.
@Suite struct UseLimitTests {
    private let limited = RateLimited(.session, retryAfter: 7)

    /// A wrong device value counts as a failure, even if the token is too old.
    @Test(arguments: [ExchangeRefusal.subjectTokenTooOld, .subjectTokenExpired])
    func aGuessWithAnOldToken(_ refusal: ExchangeRefusal) async throws {
        var scenario = try ExchangeScenario(profile: .deviceSecret)
        scenario.spoil(for: refusal)
        scenario.spoil(for: .deviceHashMismatch)
        let broker = try await Broker(scenario)
        #expect(await broker.failure(of: scenario.request) == .refused(refusal))
        #expect(broker.limits.charges == [.failure(scenario.sessionID)])
    }

    @Test func aLimitComesBeforeTheRegistry() async throws {
        let scenario = try RefreshScenario()
        let broker = try await Broker(scenario)
        broker.limits.refuse(limited)
        #expect(await broker.failure(of: scenario.exchange.request) == .limited(.session))
        #expect(await broker.failure(of: try scenario.request(keys: broker.keys)) == .limited(.session))
        #expect(broker.registry.admissions.isEmpty)
        #expect(broker.registry.rotations.isEmpty)
    }

    @Test func aUseIsChargedToItsGrantAndItsLogin() async throws {
        let scenario = try RefreshScenario()
        let broker = try await Broker(scenario)
        _ = try await broker.refresh(scenario.request(keys: broker.keys))
        _ = try await broker.exchange(scenario.exchange.request)
        let hash = try #require(scenario.exchange.deviceHash)
        #expect(
            broker.limits.charges == [
                .refresh(scenario.grantID, client: scenario.client.id),
                .exchange(scenario.exchange.sessionID, device: hash, client: scenario.client.id),
            ])
    }
}
