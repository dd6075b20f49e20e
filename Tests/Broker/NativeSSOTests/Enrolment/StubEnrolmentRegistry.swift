import BrokerTesting
import NativeSSO
import Synchronization

/// Has one session for each id_token, on the device that came first with it. A test may tell it what to answer.
final class StubEnrolmentRegistry: EnrolmentRegistry {
    private struct State {
        var entries: [EnrolmentEntry] = []
        var sessions: [EnrolledTokenDigest: (device: DeviceDigest, session: EnrolledSession)] = [:]
        var failure: PortError?
        var facts: EnrolmentFacts?
    }

    private let state = Mutex(State())

    /// What it was asked, refused requests too.
    var entries: [EnrolmentEntry] { state.withLock { $0.entries } }
    var sessionCount: Int { state.withLock { $0.sessions.count } }

    /// What every further call throws; `nil`: they work again.
    func fail(with failure: PortError?) { state.withLock { $0.failure = failure } }

    /// What every further call answers, true or not.
    func answer(_ facts: EnrolmentFacts) { state.withLock { $0.facts = facts } }

    func enrol(_ entry: EnrolmentEntry) async throws(PortError) -> EnrolmentFacts {
        try state.withLock { state throws(PortError) in
            state.entries.append(entry)
            if let failure = state.failure { throw failure }
            if let facts = state.facts { return facts }
            let earlier = state.sessions[entry.token]
            let isUsed = earlier.map { $0.device != entry.device } ?? false
            guard entry.checks.isPermitted, !isUsed else { return EnrolmentFacts.seen(tokenIsUsed: isUsed) }
            let session =
                earlier?.session
                ?? EnrolledSession(
                    id: SessionID(of: entry.proposedRowID),
                    expiresAt: FixedClock().now.adding(entry.request.issuer.sessionLifetime))
            state.sessions[entry.token] = (entry.device, session)
            return EnrolmentFacts.seen(session: session)
        }
    }
}

extension EnrolmentFacts {
    /// Of a source client that may enrol, but for what a test is about.
    static func seen(
        clientIsEnabled: Bool = true, role: Membership.Role? = .source, deviceIsBlocked: Bool = false,
        loginHasEnded: Bool = false, accountIsDisabled: Bool = false, tokenIsUsed: Bool = false,
        boundKey: KeyThumbprint? = nil, proofWasUsed: Bool = false, assertionWasUsed: Bool = false,
        session: EnrolledSession? = nil
    ) -> EnrolmentFacts {
        EnrolmentFacts(
            now: FixedClock().now, clientIsEnabled: clientIsEnabled,
            membership: role.map { Membership(group: GroupID(validated: "suite"), role: $0) },
            deviceIsBlocked: deviceIsBlocked, loginHasEnded: loginHasEnded, accountIsDisabled: accountIsDisabled,
            tokenIsUsed: tokenIsUsed, boundKey: boundKey, proofWasUsed: proofWasUsed,
            assertionWasUsed: assertionWasUsed, session: session)
    }
}
