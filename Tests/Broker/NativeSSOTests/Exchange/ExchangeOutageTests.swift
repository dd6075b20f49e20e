import BrokerTesting
import RegistryConformance
import NativeSSO
import Testing

/// An outage is never a refusal, and the broker issues nothing.
@Suite struct ExchangeOutageTests {
    private static let database = PortError.outage(Outage(.database, "away"))
    private static let keyModule = PortError.outage(Outage(.keyModule, "away"))
    private static let defect = PortError.broken("a defect")

    @Test func theIdentityProvider() async throws {
        let (scenario, broker) = try await granted()
        broker.idTokens.answer(.outage)
        await expect(.outage(.identityProvider), of: scenario, at: broker)
        #expect(broker.registry.admissions.isEmpty)
    }

    @Test func theDirectory() async throws {
        let (scenario, broker) = try await granted()
        broker.directory.fail(with: Self.database)
        await expect(.outage(.database), of: scenario, at: broker)
        broker.directory.fail(with: Self.defect)
        await expect(.broken, of: scenario, at: broker)
        #expect(broker.registry.admissions.isEmpty)
    }

    @Test func theDeviceKey() async throws {
        let (scenario, broker) = try await granted()
        broker.keys.fail(with: Self.keyModule)
        await expect(.outage(.keyModule), of: scenario, at: broker)
        broker.keys.fail(with: Self.defect)
        await expect(.broken, of: scenario, at: broker)
        #expect(broker.registry.admissions.isEmpty)
    }

    @Test func theDatabase() async throws {
        let (scenario, broker) = try await granted()
        broker.registry.fail(with: Self.database)
        await expect(.outage(.database), of: scenario, at: broker)
        broker.registry.fail(with: Self.defect)
        await expect(.broken, of: scenario, at: broker)
        #expect(broker.signer.count == 0)
    }

    /// A known outage of the key module writes nothing.
    @Test func theSignerBefore() async throws {
        let (scenario, broker) = try await granted()
        let admissions = broker.registry.admissions.count
        broker.signer.fail(with: Self.keyModule)
        await expect(.outage(.keyModule), of: scenario, at: broker)
        #expect(broker.registry.admissions.count == admissions)
    }

    @Test func aSuspendedRefreshTokenKey() async throws {
        let (scenario, broker) = try await granted()
        let admissions = broker.registry.admissions.count
        broker.keys.suspendIssuing(with: Self.keyModule)
        await expect(.outage(.keyModule), of: scenario, at: broker)
        #expect(broker.registry.admissions.count == admissions)
    }

    /// The grant is already recorded. The retry continues the same grant.
    @Test func theSigner() async throws {
        let (scenario, broker) = try await granted()
        broker.signer.fail(with: Self.keyModule, isKnown: false)
        await expect(.outage(.keyModule), of: scenario, at: broker)
        broker.signer.fail(with: Self.defect, isKnown: false)
        await expect(.broken, of: scenario, at: broker)
        broker.signer.fail(with: nil)
        #expect(try await broker.exchange(scenario.request).expiresIn == 300)
        #expect(broker.registry.counts().grants == 1)
    }

    /// While the registry is away, a request that it would refuse gets an outage: no app may lose its login.
    @Test func anOutageIsNeverARefusal() async throws {
        for refusal in ExchangeRefusal.allCases
        where ExchangeScenario.step(of: refusal) >= ExchangeScenario.step(of: .assertionReplayed) {
            var scenario = try ExchangeScenario(profile: .deviceSecret)
            scenario.spoil(for: refusal)
            let broker = try await Broker(scenario)
            broker.registry.fail(with: Self.database)
            await expect(.outage(.database), of: scenario, at: broker)
        }
    }

    private func granted() async throws -> (ExchangeScenario, Broker) {
        let scenario = try ExchangeScenario()
        return (scenario, try await Broker(scenario))
    }

    private func expect(
        _ expected: Failure<ExchangeRefusal>, of scenario: ExchangeScenario, at broker: Broker,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async {
        let seen = await broker.failure(of: scenario.request)
        #expect(seen == expected, sourceLocation: sourceLocation)
    }
}
