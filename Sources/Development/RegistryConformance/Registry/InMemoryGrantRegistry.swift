import BrokerTesting
package import NativeSSO
import Synchronization

/// The rows of a test behind a lock, for tests of what the broker makes of a registry's answers.
///
/// It gathers the facts and asks the rules of the core. Here no session begins or ends.
/// ``GrantRegistryConformance`` has what a registry must do, and runs on PostgreSQL alone.
package final class InMemoryGrantRegistry: GrantRegistry, HandoffRegistry, RowStore {
    private let state: Mutex<RegistryState>

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
    package var rotations: [Rotation] { state.withLock { $0.rotations } }
    /// Client assertions that were used up, and until when that has to be remembered.
    package var usedAssertions: [AssertionID: UnixTime] { state.withLock { $0.usedAssertions } }

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
            guard let grant = state.grants[token.grantID], grant.row.generation == token.generation,
                grant.row.generation > grant.row.exchangedGeneration
            else { return }
            state.grants[token.grantID]?.rotatedAt = grant.expiresAt
        }
    }

    package func make(_ entry: HandoffEntry) async throws(PortError) -> HandoffFacts {
        try call { $0.make(entry) }
    }

    package func handoff(_ code: HandoffDigest) async throws(PortError) -> KeptHandoff? {
        try call { $0.handoffs[code] }
    }

    package func redeem(_ redemption: HandoffRedemption) async throws(PortError) -> RedemptionFacts {
        try call { $0.redeem(redemption) }
    }

    private func call<Value: Sendable>(_ body: (inout RegistryState) -> Value) throws(PortError) -> Value {
        try state.withLock { state throws(PortError) in
            if let failure = state.failure { throw failure }
            return body(&state)
        }
    }

    // MARK: Rows

    package func put(client: ClientID, isEnabled: Bool) {
        state.withLock { $0.clientIsEnabled[client] = isEnabled }
    }

    package func put(_ member: MemberRow) {
        let key = RegistryState.Member(issuer: member.issuer, client: member.client)
        state.withLock { $0.members[key] = member.membership }
    }

    package func removeMember(_ client: ClientID, at issuer: Issuer) {
        state.withLock { $0.members[RegistryState.Member(issuer: issuer, client: client)] = nil }
    }

    package func put(_ session: SessionRow) { state.withLock { $0.put(session) } }

    package func put(_ device: DeviceRow) {
        state.withLock { $0.devices[RegistryState.Device(issuer: device.issuer, digest: device.digest)] = device }
    }

    package func put(_ grant: GrantRow) { state.withLock { $0.put(grant) } }

    package func put(_ service: ServiceHistory) { state.withLock { $0.service = service } }

    package func disable(_ subject: Subject, of issuer: Issuer) {
        state.withLock { _ = $0.disabledAccounts.insert([issuer.string, subject.string]) }
    }

    package func put(_ used: ProofID) { state.withLock { _ = $0.usedProofs.insert(used) } }

    package func put(_ used: AssertionID) { state.withLock { $0.usedAssertions[used] = $0.now.adding(60) } }
}

/// The tables.
private struct RegistryState: Sendable {
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
        let sid: [UInt8]
        let facts: SessionFacts
    }

    struct Grant {
        var row: GrantRow
        let expiresAt: UnixTime
        var rotatedAt: UnixTime
    }

    var now: UnixTime
    var clientIsEnabled: [ClientID: Bool] = [:]
    var members: [Member: Membership] = [:]
    var devices: [Device: DeviceRow] = [:]
    var disabledAccounts: Set<[String]> = []
    var service = ServiceHistory()
    var sessions: [UniqueID: Session] = [:]
    var grants: [UniqueID: Grant] = [:]
    var usedProofs: Set<ProofID> = []
    var usedAssertions: [AssertionID: UnixTime] = [:]
    var handoffs: [HandoffDigest: KeptHandoff] = [:]
    var redeemed: Set<HandoffDigest> = []

    var failure: PortError?
    var falseAdmission: AdmissionFacts?
    var falseRotation: RotationFacts?
    var admissions: [Admission] = []
    var rotations: [Rotation] = []

    init(now: UnixTime) { self.now = now }

    mutating func put(_ session: SessionRow) {
        let isBare = session.isEnded && session.iatAfter == nil && session.authTimeAfter == nil
        let facts = SessionFacts(
            id: session.id, subject: session.subject, endedAt: session.isEnded ? now : nil,
            expiresAt: now.adding(session.expiresIn), lastUsedAt: now.before(session.lastUsed),
            hasAuthTime: session.login.authenticatedAt != nil, iatAfter: session.iatAfter,
            authTimeAfter: isBare ? now : session.authTimeAfter)
        sessions[session.id] = Session(issuer: session.issuer, sid: session.sid.digest, facts: facts)
    }

    mutating func put(_ grant: GrantRow) {
        grants[grant.id] = Grant(
            row: grant, expiresAt: now.adding(grant.expiresIn), rotatedAt: now.before(grant.rotated))
    }

    private func membership(of client: ClientID, at issuer: Issuer) -> Membership? {
        members[Member(issuer: issuer, client: client)]
    }

    /// Uses a proof up.
    /// - Returns: Whether it was used before.
    private mutating func wasUsed(_ proof: PresentedProof?) -> Bool {
        guard let proof else { return false }
        return !usedProofs.insert(proof.id).inserted
    }

    /// The same of an assertion.
    private mutating func wasUsed(_ assertion: PresentedAssertion?) -> Bool {
        guard let assertion else { return false }
        guard usedAssertions[assertion.id] == nil else { return true }
        usedAssertions[assertion.id] = assertion.until
        return false
    }

    // MARK: Exchanges

    /// - Parameter records: Whether to record the grant, unless a rule refuses.
    mutating func admit(_ asked: Admission, records: Bool = true) -> AdmissionFacts {
        let assertionWasUsed = wasUsed(asked.request.assertion)
        let proofWasUsed = !assertionWasUsed && wasUsed(asked.request.proof)
        let (client, issuer) = (asked.request.client, asked.idToken.issuer)
        let source = membership(of: asked.idToken.sourceClient, at: issuer)
        let session = sessions.values.first { $0.issuer == issuer && $0.sid == asked.sid }?.facts
        let device = devices[Device(issuer: issuer, digest: asked.device)]
        let wasReplayed = grants.values.contains { grant in
            grant.row.session == session?.id && grant.row.client == client.id && grant.row.wasReplayed
        }
        let seen = AdmissionFacts(
            now: now, clientIsEnabled: clientIsEnabled[client.id] ?? false, source: source,
            target: membership(of: client.id, at: issuer),
            otherAudienceInGroup: asked.otherAudience.allSatisfy { other in
                membership(of: other, at: issuer).map { $0.group == source?.group } ?? false
            },
            session: session, deviceIsBlocked: device?.isBlocked ?? false,
            boundKey: client.isKnownByKey ? device?.pins[client.id] : nil, proofWasUsed: proofWasUsed,
            assertionWasUsed: assertionWasUsed,
            needsLaterLogin: wasReplayed && (asked.idToken.login.authenticatedAt.map { $0 <= now } ?? true),
            accountIsDisabled: disabledAccounts.contains([issuer.string, asked.idToken.subject.string]), grant: nil)
        guard records, let session, refusal(asked, seen) == nil else { return seen }
        return seen.with(session: session, grant: record(asked, in: session))
    }

    private mutating func record(_ asked: Admission, in session: SessionFacts) -> GrantFacts {
        let client = asked.request.client
        if client.isKnownByKey, let key = asked.request.proof?.key {
            let device = Device(issuer: asked.idToken.issuer, digest: asked.device)
            let row = DeviceRow(issuer: device.issuer, digest: device.digest, isBlocked: false)
            devices[device, default: row].pins[client.id] = key
        }
        let live = grants.values.first {
            $0.row.session == session.id && $0.row.client == client.id && !$0.row.isRevoked
        }
        let end = asked.checks.grantLifetime.map { min(now.adding($0), session.expiresAt) } ?? session.expiresAt
        var row = GrantRow(
            id: live?.row.id ?? asked.proposedGrantID, session: session.id, client: client.id,
            sourceClient: asked.idToken.sourceClient, device: asked.device, expiresIn: end.since(now),
            scope: asked.checks.scope, audiences: client.audiences)
        row.generation = (live?.row.generation ?? 0) + 1
        row.exchangedGeneration = row.generation
        row.login = asked.idToken.login
        row.claims = asked.checks.claims
        row.key = asked.request.proof?.key
        put(row)
        return GrantFacts(id: row.id, generation: row.generation, expiresAt: end)
    }

    // MARK: Refreshes

    mutating func rotate(_ asked: Rotation) -> RotationFacts {
        let assertionWasUsed = wasUsed(asked.request.assertion)
        let proofWasUsed = !assertionWasUsed && wasUsed(asked.request.proof)
        let seen = family(of: asked.token)
        var effect = RotationFacts.Effect.none
        if let seen, !assertionWasUsed, !proofWasUsed {
            let refusal = refusal(asked, seen, at: now)
            let grace = seen.key == nil ? asked.grace : asked.lifetimes.refreshGrace
            let late = service.effect(rotated: now.since(seen.rotatedAt).count, grace: grace.count)
            if refusal == .late, late != .revoked {
                effect = late
            } else if let refusal {
                if refusal.revokesGrant {
                    effect = .revoked
                    grants[asked.token.grantID]?.row.isRevoked = true
                }
            } else if asked.token.generation == seen.generation {
                effect = .advanced
                grants[asked.token.grantID]?.row.generation += 1
                grants[asked.token.grantID]?.rotatedAt = now
            }
        }
        return RotationFacts(
            now: now, effect: effect, proofWasUsed: proofWasUsed, assertionWasUsed: assertionWasUsed, grant: seen)
    }

    private func family(of token: RefreshToken) -> FamilyFacts? {
        guard let grant = grants[token.grantID], let session = sessions[grant.row.session] else { return nil }
        let row = grant.row
        let source = membership(of: row.sourceClient, at: session.issuer)
        let target = membership(of: row.client, at: session.issuer)
        let sharesLogin =
            source != nil && source?.group == target?.group && source?.role != .target && target?.role != .source
        return FamilyFacts(
            client: row.client, generation: row.generation, exchangedGeneration: row.exchangedGeneration,
            rotatedAt: grant.rotatedAt, revokedAt: row.isRevoked ? now : nil, expiresAt: grant.expiresAt,
            scope: row.scope, audiences: row.audiences, provider: session.issuer, session: session.facts,
            login: row.login, claims: row.claims, clientIsEnabled: clientIsEnabled[row.client] ?? false,
            sharesLogin: sharesLogin, scopeCeiling: target?.scopeCeiling,
            deviceIsBlocked: devices[Device(issuer: session.issuer, digest: row.device)]?.isBlocked ?? false,
            key: row.key)
    }

    // MARK: Hand-offs

    mutating func make(_ entry: HandoffEntry) -> HandoffFacts {
        let app = admit(entry.app, records: false)
        let web = admit(entry.web, records: false)
        let kept = KeptHandoff(entry)
        let issuer = kept.idToken.issuer
        let permission = membership(of: entry.app.request.client.id, at: issuer)?.handoff
        let origins = membership(of: kept.client, at: issuer)?.handoffOrigins ?? []
        func facts(isKept: Bool) -> HandoffFacts {
            HandoffFacts(
                app: app, web: web, permission: permission, takesOrigin: origins.contains(kept.origin), isKept: isKept)
        }
        guard refusal(entry, facts(isKept: false)) == nil else { return facts(isKept: false) }
        handoffs[entry.code] = kept
        return facts(isKept: true)
    }

    /// - Parameter asked: Of a code that is kept.
    mutating func redeem(_ asked: HandoffRedemption) -> RedemptionFacts {
        let isUsed = redeemed.contains(asked.code)
        let web = admit(asked.web, records: !isUsed)
        if web.grant != nil { redeemed.insert(asked.code) }
        return RedemptionFacts(standing: isUsed ? .used : .good, web: web)
    }
}

extension AdmissionFacts {
    package func with(grant: GrantFacts?) -> AdmissionFacts { with(session: session, grant: grant) }

    package func with(session: SessionFacts?, grant: GrantFacts?) -> AdmissionFacts {
        AdmissionFacts(
            now: now, clientIsEnabled: clientIsEnabled, source: source, target: target,
            otherAudienceInGroup: otherAudienceInGroup, session: session, deviceIsBlocked: deviceIsBlocked,
            boundKey: boundKey, proofWasUsed: proofWasUsed, assertionWasUsed: assertionWasUsed,
            needsLaterLogin: needsLaterLogin, accountIsDisabled: accountIsDisabled, tokenIsCovered: tokenIsCovered,
            grant: grant)
    }
}

extension KeptHandoff {
    /// What the registry keeps of an entry.
    package init(_ entry: HandoffEntry) {
        let (web, idToken) = (entry.web, entry.web.idToken)
        self.init(
            challenge: entry.challenge, origin: entry.origin, client: web.request.client.id,
            audience: web.request.issuer.issuer,
            idToken: IDTokenClaims(
                issuer: idToken.issuer, subject: idToken.subject, sessionID: nil, sourceClient: idToken.sourceClient,
                audience: idToken.audience, issuedAt: idToken.issuedAt, expiresAt: idToken.expiresAt,
                login: idToken.login, hashFunction: .sha256, isKeyCurrent: idToken.isKeyCurrent,
                claims: web.checks.claims.object),
            sid: web.sid, device: web.device, profile: web.request.profile, scope: web.checks.scope)
    }
}

extension UnixTime {
    package func before(_ span: Seconds) -> UnixTime { UnixTime(seconds: seconds - span.count) }
}
