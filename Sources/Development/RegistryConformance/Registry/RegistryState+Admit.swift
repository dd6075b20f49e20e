import NativeSSO

extension RegistryState {
    /// Gathers the facts, and records what the rules of the core grant.
    mutating func admit(_ asked: Admission) -> AdmissionFacts {
        let seen = judge(asked)
        guard refusal(asked, seen) == nil else { return seen }
        let recorded = begin(asked, after: sessionID(of: asked.sid, at: asked.idToken.issuer))
        return facts(
            asked, session: recorded, assertionWasUsed: false, proofWasUsed: false, needsLaterLogin: false,
            grant: record(asked, in: recorded))
    }

    /// Gathers the facts. Uses proof and assertion up, and writes nothing else.
    mutating func judge(_ asked: Admission) -> AdmissionFacts {
        let assertionWasUsed = wasUsed(asked.request.assertion)
        let proofWasUsed = !assertionWasUsed && wasUsed(asked.request.proof)
        let session = sessionID(of: asked.sid, at: asked.idToken.issuer)
        func facts(needsLaterLogin: Bool) -> AdmissionFacts {
            self.facts(
                asked, session: session, assertionWasUsed: assertionWasUsed, proofWasUsed: proofWasUsed,
                needsLaterLogin: needsLaterLogin)
        }
        let seen = facts(needsLaterLogin: false)
        guard refusal(asked, seen) == nil, let live = seen.session,
            live.refusal(idleLimit: asked.checks.idleLimit, at: now) == nil, wasReplayed(asked, in: live.id)
        else { return seen }
        return facts(needsLaterLogin: true)
    }

    private func facts(
        _ asked: Admission, session: UniqueID?, assertionWasUsed: Bool, proofWasUsed: Bool, needsLaterLogin: Bool,
        grant: GrantFacts? = nil
    ) -> AdmissionFacts {
        let client = asked.request.client
        let device = Device(issuer: asked.idToken.issuer, digest: asked.device)
        func member(_ client: ClientID) -> Membership? {
            members[Member(issuer: asked.idToken.issuer, client: client)]
        }
        let source = member(asked.idToken.sourceClient)
        let isLive =
            session.flatMap { sessions[$0]?.facts(id: $0) }
            .map { $0.refusal(idleLimit: asked.checks.idleLimit, at: now) == nil } ?? false
        return AdmissionFacts(
            now: now, clientIsEnabled: clientIsEnabled[client.id] ?? false, source: source, target: member(client.id),
            otherAudienceInGroup: asked.otherAudience.allSatisfy { other in
                member(other).map { $0.group == source?.group } ?? false
            },
            session: session.flatMap { sessions[$0]?.facts(id: $0) },
            deviceIsBlocked: blockedDevices.contains(device),
            boundKey: client.isKnownByKey ? boundKeys[Place(device: device, client: client.id)] : nil,
            proofWasUsed: proofWasUsed, assertionWasUsed: assertionWasUsed, needsLaterLogin: needsLaterLogin,
            accountIsDisabled: !isLive
                && disabledAccounts.contains([asked.idToken.issuer.string, asked.idToken.subject.string]),
            grant: grant)
    }

    /// Whether a refresh token of the client was reused in this session, not before the login of the id_token.
    private func wasReplayed(_ asked: Admission, in session: UniqueID) -> Bool {
        families.values.contains { family in
            guard family.session == session, family.client == asked.request.client.id, family.wasReplayed,
                let revokedAt = family.revokedAt
            else { return false }
            return asked.idToken.login.authenticatedAt.map { $0 <= revokedAt } ?? true
        }
    }

    /// First sight, or a new session under the name of a dead one: it takes over what the ends of the name ask.
    /// - Returns: The live session of the name.
    private mutating func begin(_ asked: Admission, after newest: UniqueID?) -> UniqueID {
        let isEnded = newest.flatMap { sessions[$0]?.endedAt } != nil
        if let newest { sessions[newest]?.endIfOver(idleLimit: asked.checks.idleLimit, at: now) }
        let dead = newest.flatMap { sessions[$0] }
        if !isEnded, dead?.endedAt != nil { auditRows += 1 }
        if let newest, dead?.endedAt == nil { return newest }
        sessions[asked.proposedSessionRowID] = Session(
            issuer: asked.idToken.issuer, sid: asked.sid, subject: asked.idToken.subject,
            hasAuthTime: asked.idToken.login.authenticatedAt != nil,
            expiresAt: now.adding(asked.firstSightLifetime ?? 0), lastUsedAt: now, iatAfter: dead?.iatAfter,
            authTimeAfter: dead?.authTimeAfter)
        return asked.proposedSessionRowID
    }

    private mutating func record(_ asked: Admission, in session: UniqueID) -> GrantFacts {
        let (client, key) = (asked.request.client, asked.request.proof?.key)
        let place = Place(
            device: Device(issuer: asked.idToken.issuer, digest: asked.device), client: client.id)
        if client.isKnownByKey, let key, boundKeys[place] == nil {
            knownDevices.insert(place.device)
            boundKeys[place] = key
        }
        touch(session, idleLimit: asked.checks.idleLimit)
        auditRows += 1

        let sessionEnd = sessions[session]?.expiresAt ?? now
        let end = asked.checks.grantLifetime.map { min(now.adding($0), sessionEnd) } ?? sessionEnd
        let live = families.first { _, family in
            family.session == session && family.client == client.id && family.revokedAt == nil
        }
        let id = live?.key ?? asked.proposedGrantID
        let repeats = live.map { isRepeated(asked, $0.value) } ?? false
        let generation = (live?.value.generation ?? 0) + (repeats ? 0 : 1)
        families[id] = TokenFamily(
            session: session, client: client.id, sourceClient: asked.idToken.sourceClient, device: asked.device,
            generation: generation, exchangedGeneration: generation,
            keylessBefore: live.map { $0.value.key == nil ? generation : $0.value.keylessBefore } ?? 1,
            spent: live?.value.spentByExchange ?? [],
            rotatedAt: repeats ? live?.value.rotatedAt ?? now : now, revokedAt: nil, expiresAt: end,
            scope: asked.checks.scope, audiences: client.audiences, login: asked.idToken.login,
            claims: asked.checks.claims,
            key: key)
        return GrantFacts(id: id, generation: generation, expiresAt: end)
    }

    /// The same exchange within 10 s, before any refresh: the first answer may have been lost.
    private func isRepeated(_ asked: Admission, _ live: TokenFamily) -> Bool {
        live.generation == live.exchangedGeneration && now < live.rotatedAt.adding(10)
            && live.key == asked.request.proof?.key && live.sourceClient == asked.idToken.sourceClient
            && live.device == asked.device && live.scope == asked.checks.scope
            && live.audiences == asked.request.client.audiences && live.login == asked.idToken.login
            && live.claims == asked.checks.claims
    }
}
