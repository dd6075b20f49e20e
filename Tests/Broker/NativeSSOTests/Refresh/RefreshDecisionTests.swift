import BrokerTesting
import RegistryConformance
import Testing

@testable import NativeSSO

/// If rules and registry disagree, the broker reports its own defect: never a token, and never a refusal.
@Suite struct RefreshDecisionTests {
    @Test func anotherEffectThanTheRightOne() async throws {
        for refusal in RefreshRefusal.allCases
        where ![.tokenNotOurs, .grantUnknown, .subjectAmbiguous].contains(refusal) {
            var scenario = try RefreshScenario()
            scenario.spoil(for: refusal)
            try await expectDefect(scenario, except: refusal.revokesGrant ? .revoked : .none)
        }
        try await expectDefect(try RefreshScenario(), except: .advanced)
        var redelivery = try RefreshScenario()
        redelivery.grant?.rotated = 0
        redelivery.generation = 4
        try await expectDefect(redelivery, except: .none)
    }

    /// The highest possible generation has no successor.
    @Test func generationsDoNotOverflow() async throws {
        var scenario = try RefreshScenario()
        scenario.grant?.generation = .max - 1
        scenario.generation = .max - 1
        let broker = try await Broker(scenario)
        #expect(try await broker.refresh(scenario.request(keys: broker.keys)).refreshToken != nil)
        let seen = try await scenario.attempt(on: broker.registry).facts
        broker.registry.falsify(RotationFacts(now: seen.now, effect: .advanced, grant: seen.grant))
        scenario.generation = .max
        #expect(try await broker.failure(of: scenario.request(keys: broker.keys)) == .broken)
    }

    private func expectDefect(_ scenario: RefreshScenario, except right: RotationFacts.Effect) async throws {
        for effect in RotationFacts.Effect.allCases where effect != right {
            let broker = try await Broker(scenario)
            let attempt = try await scenario.attempt(on: broker.registry)
            // Of a late token, the registry alone knows whether a gap excuses it.
            if attempt.refusal == .late, effect == .extended || effect == .unsure { continue }
            let seen = attempt.facts
            broker.registry.falsify(
                RotationFacts(
                    now: seen.now, effect: effect, proofWasUsed: seen.proofWasUsed,
                    assertionWasUsed: seen.assertionWasUsed, grant: seen.grant))
            #expect(try await broker.failure(of: scenario.request(keys: broker.keys)) == .broken)
            #expect(broker.signer.count == 0)
        }
    }
}
