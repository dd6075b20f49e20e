import BrokerTesting
package import NativeSSO
import Synchronization

/// `EnrolmentRegistry` behind a lock. It follows the contract by itself, without a look at the rules of the core.
package final class InMemoryEnrolmentRegistry: EnrolmentRegistry {
    private struct Session {
        let id: SessionID
        let expiresAt: UnixTime
        let device: DeviceDigest
        let login: SessionID?
        var hasEnded = false
    }

    private struct State {
        var now: UnixTime
        var enabled: Set<ClientID> = []
        var members: [ClientID: Membership] = [:]
        var blocked: Set<DeviceDigest> = []
        var disabled: Set<Subject> = []
        var sessions: [EnrolledTokenDigest: Session] = [:]
        var entries: [EnrolmentEntry] = []
        var failure: PortError?
        var falseFacts: EnrolmentFacts?
        var used: Set<[UInt8]> = []
        var pins: [Pin: KeyThumbprint] = [:]
    }

    private struct Pin: Hashable {
        let device: DeviceDigest
        let client: ClientID
    }

    private let state: Mutex<State>

    package init(now: UnixTime = FixedClock().now) { state = Mutex(State(now: now)) }

    /// What it was asked, refused requests too.
    package var entries: [EnrolmentEntry] { state.withLock { $0.entries } }
    package var sessionCount: Int { state.withLock { $0.sessions.count } }

    /// What every further call throws; `nil`: they work again.
    package func fail(with failure: PortError?) { state.withLock { $0.failure = failure } }

    /// What every further call answers, true or not; `nil`: what it saw.
    package func falsify(_ facts: EnrolmentFacts?) { state.withLock { $0.falseFacts = facts } }

    package func enable(_ client: ClientID, _ isEnabled: Bool = true) {
        state.withLock { state in
            if isEnabled { state.enabled.insert(client) } else { state.enabled.remove(client) }
        }
    }

    package func put(_ client: ClientID, _ membership: Membership?) {
        state.withLock { $0.members[client] = membership }
    }

    package func block(_ device: DeviceDigest) { state.withLock { _ = $0.blocked.insert(device) } }

    /// As the identity provider does by a security event.
    package func disable(_ subject: Subject) { state.withLock { _ = $0.disabled.insert(subject) } }

    /// As a logout does.
    package func endAll() {
        state.withLock { state in for token in state.sessions.keys { state.sessions[token]?.hasEnded = true } }
    }

    package func enrol(_ entry: EnrolmentEntry) async throws(PortError) -> EnrolmentFacts {
        try state.withLock { state throws(PortError) in
            state.entries.append(entry)
            if let failure = state.failure { throw failure }
            return state.falseFacts ?? Self.enrol(entry, &state)
        }
    }

    private static func enrol(_ entry: EnrolmentEntry, _ state: inout State) -> EnrolmentFacts {
        let assertionWasUsed = entry.request.assertion.map { !state.used.insert($0.id.digest).inserted } ?? false
        let proofWasUsed =
            assertionWasUsed ? false : entry.unusedProof.map { !state.used.insert($0.id.digest).inserted } ?? false
        let pin = Pin(device: entry.device, client: entry.request.client.id)
        let pinned = entry.request.client.isKnownByKey ? state.pins[pin] : nil
        let fitsPin = pinned == nil || pinned == entry.request.proof?.key
        let member = state.members[entry.request.client.id]
        let isEnabled = state.enabled.contains(entry.request.client.id)
        let isBlocked = state.blocked.contains(entry.device)
        let isDisabled = state.disabled.contains(entry.idToken.subject)
        let loginHasEnded = state.sessions.values.contains {
            $0.hasEnded && $0.login != nil && $0.login == entry.idToken.sessionID
        }
        let earlier = state.sessions[entry.token]
        let isUsed = earlier.map { $0.device != entry.device || $0.hasEnded || $0.expiresAt <= state.now } ?? false
        var session: EnrolledSession?
        if entry.checks.isPermitted, !assertionWasUsed, !proofWasUsed, isEnabled, let member, member.role != .target,
            !isBlocked, fitsPin, !isDisabled, !loginHasEnded, !isUsed
        {
            let recorded =
                earlier
                ?? Session(
                    id: SessionID(of: entry.proposedRowID),
                    expiresAt: state.now.adding(entry.request.issuer.sessionLifetime),
                    device: entry.device,
                    login: entry.idToken.sessionID)
            state.sessions[entry.token] = recorded
            if entry.request.client.isKnownByKey, let key = entry.request.proof?.key { state.pins[pin] = key }
            session = EnrolledSession(id: recorded.id, expiresAt: recorded.expiresAt)
        }
        return EnrolmentFacts(
            now: state.now, clientIsEnabled: isEnabled, membership: member, deviceIsBlocked: isBlocked,
            loginHasEnded: loginHasEnded, accountIsDisabled: isDisabled, tokenIsUsed: isUsed, boundKey: pinned,
            proofWasUsed: proofWasUsed,
            assertionWasUsed: assertionWasUsed, session: session)
    }
}
