import BrokerTesting
import RegistryConformance
import NativeSSO
import Testing

@Suite struct ExchangeRefusalTests {
    /// Some request earns each refusal. A refusal leaves no row and no signature.
    @Test(arguments: ExchangeRefusal.allCases)
    func isEarned(_ refusal: ExchangeRefusal) async throws {
        var scenario = try ExchangeScenario(profile: .deviceSecret)
        scenario.spoil(for: refusal)
        let broker = try await Broker(scenario)
        let before = broker.registry.digestOfState()
        #expect(await broker.failure(of: scenario.request) == .refused(refusal))
        #expect(broker.registry.digestOfState() == before)
        #expect(broker.registry.counts().auditRows == 0)
        #expect(broker.signer.count == 0)
    }

    /// An invalid id_token leaves nothing behind either, whatever else is wrong.
    @Test(arguments: SubjectTokenDefect.allCases)
    func anInvalidIDToken(_ defect: SubjectTokenDefect) async throws {
        for later in ExchangeRefusal.allCases {
            var scenario = try ExchangeScenario(profile: .deviceSecret)
            scenario.spoil(for: later)
            if defect == .deviceHash { scenario.deviceHash = nil }
            let broker = try await Broker(scenario)
            if defect != .deviceHash { broker.idTokens.answer(.refusal(defect)) }
            let before = broker.registry.digestOfState()
            #expect(await broker.failure(of: scenario.request) == .invalidIDToken(defect), "beside \(later)")
            #expect(broker.registry.digestOfState() == before)
            #expect(broker.registry.admissions.isEmpty && broker.registry.counts().auditRows == 0)
            #expect(broker.signer.count == 0 && broker.limits.charges.isEmpty)
        }
    }

    /// Of two defects, the one that the broker checks first is the reason.
    @Test(arguments: ExchangeRefusal.allCases)
    func comesBeforeEveryLaterOne(_ earlier: ExchangeRefusal) async throws {
        for later in ExchangeRefusal.allCases
        where ExchangeScenario.step(of: later) > ExchangeScenario.step(of: earlier) {
            var scenario = try ExchangeScenario(profile: .deviceSecret)
            scenario.spoil(for: later)
            scenario.spoil(for: earlier)
            let broker = try await Broker(scenario)
            let refusal = await broker.failure(of: scenario.request)
            #expect(refusal == .refused(earlier), "beside \(later)")
        }
    }

    /// Within the group: membership, same group, direction, then the other audiences of the id_token.
    @Test func theGroupIsJudgedInOrder() async throws {
        let order: [ExchangeRefusal] = [
            .clientNotInGroup, .sourceNotInGroup, .otherGroup, .directionForbidden, .audienceOutsideGroup,
        ]
        for (index, earlier) in order.enumerated() {
            var scenario = try ExchangeScenario()
            for refusal in order[index...].reversed() { scenario.spoil(for: refusal) }
            let broker = try await Broker(scenario)
            #expect(await broker.failure(of: scenario.request) == .refused(earlier))
        }
        var scenario = try ExchangeScenario()
        scenario.spoil(for: .selfExchange)
        scenario.targetMember = Membership(group: scenario.group, role: .source)
        let broker = try await Broker(scenario)
        #expect(await broker.failure(of: scenario.request) == .refused(.directionForbidden))
    }

    /// Within the session: first its user, then how it ended.
    @Test func theSessionIsJudgedInOrder() async throws {
        let order: [ExchangeRefusal] = [.subjectMismatch, .sessionEnded, .sessionExpired, .sessionIdle]
        for (index, earlier) in order.enumerated() {
            var scenario = try ExchangeScenario()
            for refusal in order[index...] { scenario.spoil(for: refusal) }
            let broker = try await Broker(scenario)
            #expect(await broker.failure(of: scenario.request) == .refused(earlier))
        }
    }

    /// A refusal for state always costs one registry call, so timing does not reveal the reason. A refusal for form
    /// never reaches the registry.
    @Test(arguments: ExchangeRefusal.allCases)
    func asksTheRegistryOnlyAboutState(_ refusal: ExchangeRefusal) async throws {
        var scenario = try ExchangeScenario(profile: .deviceSecret)
        scenario.spoil(for: refusal)
        let broker = try await Broker(scenario)
        _ = await broker.failure(of: scenario.request)
        let isForm = ExchangeScenario.step(of: refusal) < ExchangeScenario.step(of: .assertionReplayed)
        #expect(broker.registry.admissions.count == (isForm ? 0 : 1))
    }
}
