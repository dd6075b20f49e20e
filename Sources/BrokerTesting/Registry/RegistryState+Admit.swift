import NativeSSO

extension RegistryState {
    mutating func admit(_ asked: Admission) -> AdmissionFacts {
        let login = Login(issuer: asked.issuer, sid: asked.sessionID)
        let device = Device(issuer: asked.issuer, digest: asked.device)
        let isEnabled = clientIsEnabled[asked.client] ?? false
        let source = members[Member(issuer: asked.issuer, client: asked.sourceClient)]
        let target = members[Member(issuer: asked.issuer, client: asked.client)]
        let othersShare = asked.otherAudience.allSatisfy { other in
            guard let source, let other = members[Member(issuer: asked.issuer, client: other)] else { return false }
            return other.group == source.group
        }
        let isBlocked = deviceIsBlocked[device] ?? false

        let pinned = asked.heedsPin ? pins[Place(device: device, client: asked.client)] : nil
        let assertionWasUsed = wasUsed(asked.assertion)
        let proofWasUsed = !assertionWasUsed && wasUsed(asked.proof)

        let mayGo =
            !assertionWasUsed && !proofWasUsed && (pinned == nil || pinned == asked.proof?.key) && asked.isPermitted
            && isEnabled
            && othersShare && !isBlocked && mayShare(from: source, to: target)
            && (asked.client != asked.sourceClient || asked.allowsSelfExchange)
            && Self.allows(target, asked.scope) && isUsable(login, for: asked)
        // Whoever stole the chain may have this very id_token.
        let needsLaterLogin =
            mayGo
            && chains.values.contains { chain in
                guard chain.session == login, chain.client == asked.client, chain.wasReplayed,
                    let revokedAt = chain.revokedAt
                else { return false }
                return asked.login.authenticatedAt.map { $0 <= revokedAt } ?? true
            }
        let isGranted = mayGo && !needsLaterLogin
        if isGranted { begin(login, for: asked) }
        let session = sessions[login]
        let grant = isGranted ? record(asked, login, device) : nil
        return AdmissionFacts(
            now: now, clientIsEnabled: isEnabled, source: source, target: target, otherAudienceInGroup: othersShare,
            session: session.map { session in
                SessionFacts(
                    id: session.id, subject: session.subject, endedAt: session.endedAt,
                    expiresAt: session.expiresAt, lastUsedAt: session.lastUsedAt)
            },
            deviceIsBlocked: isBlocked, pinnedKey: pinned, proofWasUsed: proofWasUsed,
            assertionWasUsed: assertionWasUsed, needsLaterLogin: needsLaterLogin, grant: grant)
    }

    /// Whether a login may travel from one member to the other.
    func mayShare(from source: Membership?, to target: Membership?) -> Bool {
        guard let source, let target, source.group == target.group else { return false }
        return [.source, .both].contains(source.role) && [.target, .both].contains(target.role)
    }

    private static func allows(_ member: Membership?, _ scope: Scope) -> Bool {
        guard let ceiling = member?.scopeCeiling else { return true }
        return Set(scope.tokens).isSubset(of: ceiling.tokens)
    }

    /// Whether the session is live and the subject's own, or may begin here.
    private func isUsable(_ login: Login, for asked: Admission) -> Bool {
        guard let session = sessions[login] else { return asked.firstSightLifetime != nil }
        return session.endedAt == nil && session.subject == asked.subject
            && now < session.expiresAt && now < session.lastUsedAt.adding(asked.idleLimit)
    }

    /// First sight.
    private mutating func begin(_ login: Login, for asked: Admission) {
        guard sessions[login] == nil, let lifetime = asked.firstSightLifetime else { return }
        sessions[login] = Session(
            id: asked.proposedSessionRowID, subject: asked.subject, expiresAt: now.adding(lifetime), lastUsedAt: now)
    }

    private mutating func record(_ asked: Admission, _ login: Login, _ device: Device) -> GrantFacts {
        if deviceIsBlocked[device] == nil { deviceIsBlocked[device] = false }
        let place = Place(device: device, client: asked.client)
        if asked.heedsPin, let key = asked.proof?.key, pins[place] == nil { pins[place] = key }
        touch(login, idleLimit: asked.idleLimit)
        auditRows += 1

        let sessionEnd = sessions[login]?.expiresAt ?? now
        let end = asked.grantLifetime.map { min(now.adding($0), sessionEnd) } ?? sessionEnd
        let live = chains.first { _, chain in
            chain.session == login && chain.client == asked.client && chain.revokedAt == nil
        }
        let id = live?.key ?? asked.proposedGrantID
        let repeats = live.map { isRepeated(asked, $0.value) } ?? false
        let generation = (live?.value.generation ?? 0) + (repeats ? 0 : 1)
        chains[id] = Chain(
            session: login, client: asked.client, sourceClient: asked.sourceClient, device: asked.device,
            generation: generation, exchangedGeneration: generation, spent: live.map { spent(of: $0.value) } ?? [],
            rotatedAt: repeats ? live?.value.rotatedAt ?? now : now, revokedAt: nil, expiresAt: end, scope: asked.scope,
            audiences: asked.audiences, login: asked.login, key: asked.proof?.key)
        return GrantFacts(id: id, generation: generation, expiresAt: end)
    }

    /// What was spent in the run that an exchange ends, and in those before it.
    private func spent(of live: Chain) -> [ClosedRange<Int32>] {
        let isSpending = live.generation - live.exchangedGeneration >= 2
        return live.spent + (isSpending ? [live.exchangedGeneration...live.generation - 2] : [])
    }

    /// The same request as a moment ago, whose answer nobody has used: it may have been lost.
    private func isRepeated(_ asked: Admission, _ live: Chain) -> Bool {
        live.generation == live.exchangedGeneration && now < live.rotatedAt.adding(10)
            && live.key == asked.proof?.key && live.sourceClient == asked.sourceClient && live.device == asked.device
            && live.scope == asked.scope && live.audiences == asked.audiences && live.login == asked.login
    }
}
