import BrokerTesting
package import NativeSSO
import Synchronization

/// `GrantRegistry` over dictionaries behind a lock. It states no rule: it gathers the facts and asks the core.
package final class InMemoryGrantRegistry: GrantRegistry {
    let state: Mutex<RegistryState>

    package init(now: UnixTime = FixedClock().now) {
        state = Mutex(RegistryState(now: now))
    }

    /// The database's clock. It stands still until it is set.
    package var now: UnixTime {
        get { state.withLock { $0.now } }
        set { state.withLock { $0.now = newValue } }
    }

    /// What every further call throws; `nil`: they work again.
    package func fail(with failure: PortError?) { state.withLock { $0.failure = failure } }

    /// What every further `admit` answers, true or not; `nil`: what it saw.
    package func falsify(_ facts: AdmissionFacts?) { state.withLock { $0.falseAdmission = facts } }

    /// What every further `rotate` answers, true or not; `nil`: what it saw.
    package func falsify(_ facts: RotationFacts?) { state.withLock { $0.falseRotation = facts } }

    /// The requests that it was asked, refused ones too.
    package var admissions: [Admission] { state.withLock { $0.admissions } }
    /// Client assertions that were used up, and until when that has to be remembered.
    package var usedAssertions: [AssertionID: UnixTime] { state.withLock { $0.usedAssertions } }
    package var rotations: [Rotation] { state.withLock { $0.rotations } }

    package func admit(_ admission: Admission) async throws(PortError) -> AdmissionFacts {
        state.withLock { $0.admissions.append(admission) }
        return try call { $0.falseAdmission ?? $0.admit(admission) }
    }

    package func rotate(_ rotation: Rotation) async throws(PortError) -> RotationFacts {
        state.withLock { $0.rotations.append(rotation) }
        return try call { $0.falseRotation ?? $0.rotate(rotation) }
    }

    package func markUnanswered(_ token: RefreshToken) async throws(PortError) {
        try call { state in
            guard var family = state.families[token.grantID], family.generation == token.generation,
                family.generation > family.exchangedGeneration, family.revokedAt == nil
            else { return }
            family.rotatedAt = max(family.rotatedAt, family.expiresAt)
            state.families[token.grantID] = family
        }
    }

    func call<Value: Sendable>(_ body: (inout RegistryState) -> Value) throws(PortError) -> Value {
        try state.withLock { state throws(PortError) in
            if let failure = state.failure { throw failure }
            return body(&state)
        }
    }
}

/// The tables.
struct RegistryState: Sendable {
    struct Member: Hashable {
        let issuer: Issuer
        let client: ClientID
    }

    struct Device: Hashable {
        let issuer: Issuer
        let digest: DeviceDigest
    }

    struct Session {
        let issuer: Issuer
        /// SHA-256 of it.
        let sid: [UInt8]
        let subject: Subject?
        let hasAuthTime: Bool
        let expiresAt: UnixTime
        var lastUsedAt: UnixTime
        var endedAt: UnixTime?
        var iatAfter: UnixTime?
        var authTimeAfter: UnixTime?

        /// Ends it as of the instant at which its time was over.
        mutating func endIfOver(idleLimit: Seconds, at now: UnixTime) {
            guard endedAt == nil else { return }
            if now >= expiresAt {
                endedAt = expiresAt
                if hasAuthTime { authTimeAfter = expiresAt } else { iatAfter = expiresAt }
            } else if now.since(lastUsedAt) >= idleLimit {
                endedAt = lastUsedAt.adding(idleLimit)
                iatAfter = endedAt
            }
        }

        func facts(id: UniqueID) -> SessionFacts {
            SessionFacts(
                id: id, subject: subject, endedAt: endedAt, expiresAt: expiresAt, lastUsedAt: lastUsedAt,
                hasAuthTime: hasAuthTime, iatAfter: iatAfter, authTimeAfter: authTimeAfter)
        }
    }

    struct TokenFamily {
        let session: UniqueID
        let client: ClientID
        var sourceClient: ClientID
        var device: DeviceDigest
        var generation: Int32
        var exchangedGeneration: Int32
        var keylessBefore: Int32
        /// Of the runs before the last exchange: those whose successors were presented.
        var spent: [ClosedRange<Int32>] = []
        var rotatedAt: UnixTime
        var revokedAt: UnixTime?
        var wasReplayed = false
        var cameLate = false
        var expiresAt: UnixTime
        var scope: Scope
        var audiences: [String]
        var login: Login
        var claims: CopiedClaims
        var key: KeyThumbprint?

        /// What was spent in the run that an exchange ends, and in those before it: the newest sixteen.
        var spentByExchange: [ClosedRange<Int32>] {
            let isSpending = generation - exchangedGeneration >= 2
            return (spent + (isSpending ? [exchangedGeneration...generation - 2] : [])).suffix(16)
        }
    }

    /// A client on a device.
    struct Place: Hashable {
        let device: Device
        let client: ClientID
    }

    var now: UnixTime
    var clientIsEnabled: [ClientID: Bool] = [:]
    var members: [Member: Membership] = [:]
    var knownDevices: Set<Device> = []
    var blockedDevices: Set<Device> = []
    var disabledAccounts: Set<[String]> = []
    var sessions: [UniqueID: Session] = [:]
    var families: [UniqueID: TokenFamily] = [:]
    var boundKeys: [Place: KeyThumbprint] = [:]
    var usedProofs: Set<ProofID> = []
    var usedAssertions: [AssertionID: UnixTime] = [:]
    var handoffs: [HandoffDigest: Handoff] = [:]
    var auditRows = 0

    var failure: PortError?
    var falseAdmission: AdmissionFacts?
    var falseRotation: RotationFacts?
    var admissions: [Admission] = []
    var rotations: [Rotation] = []

    init(now: UnixTime) { self.now = now }

    /// Uses a proof up.
    /// - Returns: Whether it was used before.
    mutating func wasUsed(_ proof: PresentedProof?) -> Bool {
        guard let proof else { return false }
        return !usedProofs.insert(proof.id).inserted
    }

    /// The same of an assertion.
    mutating func wasUsed(_ assertion: PresentedAssertion?) -> Bool {
        guard let assertion else { return false }
        guard usedAssertions[assertion.id] == nil else { return true }
        usedAssertions[assertion.id] = assertion.until
        return false
    }

    /// The live session of the name, else the one that ended last.
    func sessionID(of sid: [UInt8], at issuer: Issuer) -> UniqueID? {
        sessions.filter { $0.value.issuer == issuer && $0.value.sid == sid }
            .max { ($0.value.endedAt?.seconds ?? .max) < ($1.value.endedAt?.seconds ?? .max) }?.key
    }

    /// Notes a use of the session, but not more often than every few minutes.
    mutating func touch(_ id: UniqueID, idleLimit: Seconds) {
        let pause = Seconds(min(300, idleLimit.count / 4))
        guard let session = sessions[id], now.since(session.lastUsedAt) > pause else { return }
        sessions[id]?.lastUsedAt = now
    }
}
