import BrokerTesting
import RegistryConformance
import Testing

@testable import NativeSSO

@Suite struct ExchangeRefusalTests {
    /// Refusals that the broker decides alone, with the registry's facts at hand.
    private static let brokersOwn: [ExchangeRefusal] = [
        .subjectTokenTooOld, .subjectTokenExpired, .deviceHashMismatch, .scopeLacksOpenID, .scopeEmpty,
        .scopeExceedsClient, .consentRequired, .assuranceInsufficient,
    ]

    /// Some request earns each refusal. A refusal leaves no signature.
    ///
    /// A refusal for state always costs one registry call, so timing does not reveal the reason. A refusal for form
    /// never reaches the registry. A refusal of the broker's own is reported as not permitted.
    @Test(arguments: ExchangeRefusal.allCases)
    func isEarned(_ refusal: ExchangeRefusal) async throws {
        var scenario = try ExchangeScenario(profile: .deviceSecret)
        scenario.spoil(for: refusal)
        let broker = try await Broker(scenario)
        #expect(await broker.failure(of: scenario.request) == .refused(refusal))
        #expect(broker.signer.count == 0)

        let isForm = ExchangeScenario.step(of: refusal) < ExchangeScenario.step(of: .assertionReplayed)
        #expect(
            broker.registry.admissions.map(\.checks.isPermitted)
                == (isForm ? [] : [!Self.brokersOwn.contains(refusal)]))

        // A refusal after the device hash matched is charged as an exchange.
        switch refusal {
        case .mayActOther: #expect(broker.limits.charges.isEmpty)
        case .deviceHashMismatch: #expect(broker.limits.charges == [.failure(scenario.sessionID)])
        default:
            let hash = try #require(scenario.deviceHash)
            #expect(broker.limits.charges == [.exchange(scenario.sessionID, device: hash, client: scenario.target)])
        }
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
            #expect(await broker.failure(of: scenario.request) == .invalidIDToken(defect), "beside \(later)")
            #expect(broker.registry.admissions.isEmpty)
            #expect(broker.signer.count == 0 && broker.limits.charges.isEmpty)
        }
    }

    /// Of two defects, the one that the broker checks first is the reason.
    @Test(arguments: ExchangeRefusal.allCases)
    func comesBeforeEveryLaterOne(_ earlier: ExchangeRefusal) async throws {
        for later in ExchangeRefusal.allCases
        where ExchangeScenario.step(of: later) > ExchangeScenario.step(of: earlier) {
            try await expect(earlier, of: [later, earlier])
        }
    }

    /// Within the group: membership, same group, direction, then the other audiences of the id_token. Within the
    /// session: first its user, then how it ended.
    @Test(
        arguments: [
            [.clientNotInGroup, .sourceNotInGroup, .otherGroup, .directionForbidden, .audienceOutsideGroup],
            [.subjectMismatch, .sessionEnded, .sessionExpired, .sessionIdle],
        ] as [[ExchangeRefusal]])
    func oneStepIsJudgedInOrder(_ order: [ExchangeRefusal]) async throws {
        for index in order.indices { try await expect(order[index], of: order[index...].reversed()) }
    }

    /// An app that may exchange its own login still needs the role of a target.
    @Test func theDirectionOfASelfExchange() async throws {
        var scenario = try ExchangeScenario()
        scenario.spoil(for: .selfExchange)
        scenario.targetMember = Membership(group: scenario.group, role: .source)
        let broker = try await Broker(scenario)
        #expect(await broker.failure(of: scenario.request) == .refused(.directionForbidden))
    }

    private func expect(_ expected: ExchangeRefusal, of defects: [ExchangeRefusal]) async throws {
        var scenario = try ExchangeScenario(profile: .deviceSecret)
        for defect in defects { scenario.spoil(for: defect) }
        let broker = try await Broker(scenario)
        let refusal = await broker.failure(of: scenario.request)
        #expect(refusal == .refused(expected), "of \(defects)")
    }
}
