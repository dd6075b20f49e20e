import BrokerTesting
import RegistryConformance
import NativeSSO
import Testing

/// The broker counts a use after it verified the token and before it asks the registry.
@Suite struct UseLimitTests {
    private let limited = RateLimited(.session, retryAfter: 7)

    @Test func anExchangeIsChargedToItsLogin() async throws {
        let scenario = try ExchangeScenario(profile: .deviceSecret)
        let broker = try await Broker(scenario)
        _ = try await broker.exchange(scenario.request)
        let hash = try #require(scenario.deviceHash)
        #expect(broker.limits.charges == [.exchange(scenario.sessionID, device: hash, client: scenario.target)])
    }

    /// A refusal after the device hash matched is charged as an exchange.
    @Test(arguments: ExchangeRefusal.allCases)
    func aRefusedExchange(_ refusal: ExchangeRefusal) async throws {
        var scenario = try ExchangeScenario(profile: .deviceSecret)
        scenario.spoil(for: refusal)
        let broker = try await Broker(scenario)
        _ = await broker.failure(of: scenario.request)
        switch refusal {
        case .mayActOther: #expect(broker.limits.charges.isEmpty)
        case .deviceHashMismatch:
            #expect(broker.limits.charges == [.failure(scenario.sessionID)])
        default:
            #expect(broker.limits.charges.count == 1)
            guard case .exchange? = broker.limits.charges.first else {
                Issue.record("\(refusal) was charged as \(broker.limits.charges)")
                return
            }
        }
    }

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

    @Test func aRefreshIsChargedToItsGrant() async throws {
        let scenario = try RefreshScenario()
        let broker = try await Broker(scenario)
        _ = try await broker.refresh(scenario.request(keys: broker.keys))
        #expect(broker.limits.charges == [.refresh(scenario.grantID, client: scenario.client.id)])
    }

    @Test func aForeignTokenIsChargedToNoGrant() async throws {
        let scenario = try RefreshScenario()
        let broker = try await Broker(scenario)
        let forged = RefreshRequest(
            requestID: .random(), client: scenario.client, refreshToken: "nsr1.forged", scope: nil)
        #expect(await broker.failure(of: forged) == .refused(.tokenNotOurs))
        #expect(broker.limits.charges.isEmpty)
    }
}
