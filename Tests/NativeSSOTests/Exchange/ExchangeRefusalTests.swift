import BrokerTesting
import NativeSSO
import Testing

@Suite struct ExchangeRefusalTests {
    /// Every refusal is earned by some request, and leaves nothing behind: no row, no signature.
    @Test(arguments: ExchangeRefusal.allCases)
    func isEarned(_ refusal: ExchangeRefusal) async throws {
        var scenario = try ExchangeScenario(profile: .deviceSecret)
        scenario.spoil(for: refusal)
        let broker = try await spoiled(scenario, for: [refusal])
        let before = broker.registry.digestOfState()
        #expect(await broker.failure(of: scenario.request) == .refused(refusal))
        #expect(broker.registry.digestOfState() == before)
        #expect(broker.registry.counts().auditRows == 0)
        #expect(broker.signer.count == 0)
    }

    /// Of two defects the one that the contract looks at first is the reason.
    @Test(arguments: ExchangeRefusal.allCases)
    func comesBeforeEveryLaterOne(_ earlier: ExchangeRefusal) async throws {
        for later in ExchangeRefusal.allCases
        where ExchangeScenario.step(of: later) > ExchangeScenario.step(of: earlier) {
            var scenario = try ExchangeScenario(profile: .deviceSecret)
            scenario.spoil(for: later)
            scenario.spoil(for: earlier)
            let broker = try await spoiled(scenario, for: [earlier, later])
            let refusal = await broker.failure(of: scenario.request)
            #expect(refusal == .refused(earlier), "beside \(later.reason)")
        }
    }

    /// Within the group: who is a member, of which group, in which direction, for whom else the id_token was made.
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

    /// Within the session: whose it is, then how it ended.
    @Test func theSessionIsJudgedInOrder() async throws {
        let order: [ExchangeRefusal] = [.subjectMismatch, .sessionEnded, .sessionExpired, .sessionIdle]
        for (index, earlier) in order.enumerated() {
            var scenario = try ExchangeScenario()
            for refusal in order[index...] { scenario.spoil(for: refusal) }
            let broker = try await Broker(scenario)
            #expect(await broker.failure(of: scenario.request) == .refused(earlier))
        }
    }

    /// What is refused for state costs the caller the same call, so that time does not tell the reasons apart; what is
    /// refused for form never reaches the registry.
    @Test(arguments: ExchangeRefusal.allCases)
    func asksTheRegistryOnlyAboutState(_ refusal: ExchangeRefusal) async throws {
        var scenario = try ExchangeScenario(profile: .deviceSecret)
        scenario.spoil(for: refusal)
        let broker = try await spoiled(scenario, for: [refusal])
        _ = await broker.failure(of: scenario.request)
        let isForm = ExchangeScenario.step(of: refusal) < ExchangeScenario.step(of: .assertionReplayed)
        #expect(broker.registry.admissions.count == (isForm ? 0 : 1))
    }

    @Test func everyReasonIsAWordOfItsOwn() {
        let reasons = ExchangeRefusal.allCases.map(\.reason)
        #expect(Set(reasons).count == reasons.count)
        #expect(ExchangeRefusal.allCases.count == SubjectTokenDefect.allCases.count + 27)
        for reason in reasons + RefreshRefusal.allCases.map(\.rawValue) {
            #expect(reason.utf8.allSatisfy { (0x61...0x7A).contains($0) || $0 == 0x5F })
        }
    }

    private func spoiled(_ scenario: ExchangeScenario, for refusals: [ExchangeRefusal]) async throws -> Broker {
        let broker = try await Broker(scenario)
        for case .subjectToken(let defect) in refusals where defect != .deviceHash {
            broker.idTokens.answer(.refusal(defect))
        }
        return broker
    }
}
