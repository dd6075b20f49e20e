import BrokerTesting
import RegistryConformance
@testable import NativeSSO
import Testing

/// An outage is never a refusal. The broker issues nothing, and the retry gets the successor.
@Suite struct RefreshOutageTests {
    private static let database = PortError.outage(Outage(.database, "away"))
    private static let keyModule = PortError.outage(Outage(.keyModule, "away"))
    private static let defect = PortError.broken("a defect")

    @Test func theMACKeys() async throws {
        let scenario = try RefreshScenario()
        let broker = try await Broker(scenario)
        let request = try await scenario.request(keys: broker.keys)
        broker.keys.fail(with: Self.keyModule)
        #expect(await broker.failure(of: request) == .outage(.keyModule))
        broker.keys.fail(with: Self.defect)
        #expect(await broker.failure(of: request) == .broken)
        #expect(broker.registry.rotations.isEmpty)
    }

    @Test func theDatabase() async throws {
        let scenario = try RefreshScenario()
        let broker = try await Broker(scenario)
        let request = try await scenario.request(keys: broker.keys)
        broker.registry.fail(with: Self.database)
        #expect(await broker.failure(of: request) == .outage(.database))
        broker.registry.fail(with: Self.defect)
        #expect(await broker.failure(of: request) == .broken)
        #expect(broker.signer.count == 0)
    }

    /// A known outage of the key module costs no generation.
    @Test func theSignerBefore() async throws {
        let scenario = try RefreshScenario()
        let broker = try await Broker(scenario)
        let request = try await scenario.request(keys: broker.keys)
        broker.signer.fail(with: Self.keyModule)
        #expect(await broker.failure(of: request) == .outage(.keyModule))
        #expect(broker.registry.rotations.isEmpty)
        var other = scenario
        other.client.accessTokenAlgorithm = .rs256
        broker.signer.fail(with: nil)
        #expect(await broker.failure(of: try await other.request(keys: broker.keys)) == .outage(.keyModule))
        #expect(broker.registry.rotations.isEmpty)
    }

    @Test func aSuspendedRefreshTokenKey() async throws {
        let scenario = try RefreshScenario()
        let broker = try await Broker(scenario)
        let request = try await scenario.request(keys: broker.keys)
        broker.keys.suspendIssuing(with: Self.keyModule)
        #expect(await broker.failure(of: request) == .outage(.keyModule))
        #expect(broker.registry.rotations.isEmpty)
    }

    @Test func theSigner() async throws {
        let scenario = try RefreshScenario()
        let broker = try await Broker(scenario)
        let request = try await scenario.request(keys: broker.keys)
        broker.signer.fail(with: Self.keyModule, isKnown: false)
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
