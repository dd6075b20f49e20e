import BrokerTesting
import RegistryConformance
import Testing

@testable import NativeSSO

/// If rules and registry disagree, the broker reports its own defect: never a token, and never a refusal.
@Suite struct DecisionTests {
    @Test func aGrantForARefusedExchange() async throws {
        for refusal in ExchangeRefusal.allCases
        where ExchangeScenario.step(of: refusal) >= ExchangeScenario.step(of: .assertionReplayed) {
            var scenario = try ExchangeScenario(profile: .deviceSecret)
            scenario.spoil(for: refusal)
            let broker = try await Broker(scenario)
            let seen = try await scenario.attempt(on: broker.registry).facts
            let recorded = GrantFacts(id: .random(), generation: 1, expiresAt: seen.now.adding(60))
            broker.registry.falsify(seen.with(grant: recorded))
            #expect(await broker.failure(of: scenario.request) == .broken)
            #expect(broker.signer.count == 0)
        }
    }

    @Test func noGrantForAnExchangeThatBreaksNoRule() async throws {
        let scenario = try ExchangeScenario()
        let broker = try await Broker(scenario)
        broker.registry.falsify(try await scenario.attempt(on: broker.registry).facts.with(grant: nil))
        #expect(await broker.failure(of: scenario.request) == .broken)
        #expect(broker.signer.count == 0)
    }

    /// A session without a subject ended before it was seen: it cannot be live.
    @Test func aGrantInASessionWithoutUser() async throws {
        let scenario = try ExchangeScenario()
        let broker = try await Broker(scenario)
        let seen = try await scenario.attempt(on: broker.registry).facts
        let session = try #require(seen.session)
        let withoutUser = SessionFacts(
            id: session.id, subject: nil, endedAt: nil, expiresAt: session.expiresAt, lastUsedAt: session.lastUsedAt)
        broker.registry.falsify(seen.with(session: withoutUser, grant: seen.grant))
        #expect(await broker.failure(of: scenario.request) == .broken)
        broker.registry.falsify(seen.with(session: withoutUser, grant: nil))
        #expect(await broker.failure(of: scenario.request) == .refused(.sessionEnded))
    }
}
