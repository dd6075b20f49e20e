import BrokerTesting
import RegistryConformance
import NativeSSO
import Testing

@Suite struct RefreshRefusalTests {
    /// Some request earns each refusal. A refusal leaves no signature.
    @Test(arguments: RefreshRefusal.allCases)
    func isEarned(_ refusal: RefreshRefusal) async throws {
        var scenario = try RefreshScenario()
        scenario.spoil(for: refusal)
        var broker = try await Broker(scenario)
        if refusal == .subjectAmbiguous { broker.subjects = SubjectPrefixes([:]) }
        let request = try await request(scenario, for: [refusal], at: broker)
        #expect(await broker.failure(of: request) == .refused(refusal))
        #expect(broker.signer.count == 0)
    }

    /// Of two defects, the one that the broker checks first is the reason.
    @Test(arguments: RefreshRefusal.allCases)
    func comesBeforeEveryLaterOne(_ earlier: RefreshRefusal) async throws {
        for later in RefreshRefusal.allCases where RefreshScenario.step(of: later) > RefreshScenario.step(of: earlier) {
            // These two cannot meet: a token of an unknown grant belongs to no client.
            if later == .foreignClient && earlier == .grantUnknown { continue }
            var scenario = try RefreshScenario()
            scenario.spoil(for: later)
            scenario.spoil(for: earlier)
            let broker = try await Broker(scenario)
            let request = try await request(scenario, for: [earlier, later], at: broker)
            #expect(await broker.failure(of: request) == .refused(earlier), "\(later)")
        }
    }

    /// No token must name one user by the `sub` of another. The refusal revokes nothing: once the configuration is right
    /// again, the retry gets the successor.
    @Test func aSubjectThatTheConfigurationReservesSince() async throws {
        let scenario = try RefreshScenario()
        var broker = try await Broker(scenario)
        let issuer = scenario.exchange.issuer
        let good = broker.subjects
        broker.subjects = SubjectPrefixes([
            issuer: "", Issuer(validated: "https://other.example.com"): scenario.exchange.subject.string,
        ])
        let request = try await scenario.request(keys: broker.keys)
        #expect(await broker.failure(of: request) == .refused(.subjectAmbiguous))
        broker.subjects = good
        #expect(try await broker.refresh(request).refreshToken != nil)
    }

    @Test func aStrangersTokenCostsNoDatabase() async throws {
        let scenario = try RefreshScenario()
        let broker = try await Broker(scenario)
        for text in ["", "nsr1.", "an IdP's refresh token", String(repeating: "A", count: RefreshToken.length)] {
            let request = RefreshRequest(
                requestID: .random(), client: scenario.client, refreshToken: text, scope: nil)
            #expect(await broker.failure(of: request) == .refused(.tokenNotOurs))
        }
        #expect(broker.registry.rotations.isEmpty && broker.limits.charges.isEmpty)
    }

    @Test func reuseRevokes() {
        #expect(RefreshRefusal.allCases.filter(\.revokesGrant) == [.foreignClient, .replayed, .late, .stateRegressed])
    }

    private func request(
        _ scenario: RefreshScenario, for refusals: [RefreshRefusal], at broker: Broker
    ) async throws -> RefreshRequest {
        guard refusals.contains(.tokenNotOurs) else { return try await scenario.request(keys: broker.keys) }
        return RefreshRequest(
            requestID: .random(), client: scenario.client, refreshToken: "not ours", scope: scenario.scope)
    }
}
