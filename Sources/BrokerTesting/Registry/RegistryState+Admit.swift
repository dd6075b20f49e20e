import NativeSSO

extension RegistryState {
    mutating func admit(_ asked: Admission) -> AdmissionFacts {
        let login = Login(issuer: asked.idToken.issuer, sid: asked.sessionID)
        let device = Device(issuer: asked.idToken.issuer, digest: asked.device)
        let isEnabled = clientIsEnabled[asked.request.client.id] ?? false
        let source = members[Member(issuer: asked.idToken.issuer, client: asked.idToken.sourceClient)]
        let target = members[Member(issuer: asked.idToken.issuer, client: asked.request.client.id)]
        let othersShare = asked.otherAudience.allSatisfy { other in
            guard let source, let other = members[Member(issuer: asked.idToken.issuer, client: other)] else {
                return false
            }
            return other.group == source.group
        }
        let isBlocked = deviceIsBlocked[device] ?? false

        let pinned =
            asked.request.client.isKnownByKey ? pins[Place(device: device, client: asked.request.client.id)] : nil
        let assertionWasUsed = wasUsed(asked.request.assertion)
        let proofWasUsed = !assertionWasUsed && wasUsed(asked.request.proof)

        let mayGo =
            !assertionWasUsed && !proofWasUsed && (pinned == nil || pinned == asked.request.proof?.key)
            && asked.checks.isPermitted
            && isEnabled
            && othersShare && !isBlocked && mayShare(from: source, to: target)
            && (asked.request.client.id != asked.idToken.sourceClient || asked.request.client.allowsSelfExchange)
            && Self.allows(target, asked.checks.scope) && isUsable(login, for: asked)
        // Whoever stole the chain may have this very id_token.
        let needsLaterLogin =
            mayGo
            && chains.values.contains { chain in
                guard chain.session == login, chain.client == asked.request.client.id, chain.wasReplayed,
                    let revokedAt = chain.revokedAt
                else { return false }
                return asked.idToken.login.authenticatedAt.map { $0 <= revokedAt } ?? true
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
            deviceIsBlocked: isBlocked, boundKey: pinned, proofWasUsed: proofWasUsed,
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
        return session.endedAt == nil && session.subject == asked.idToken.subject
            && now < session.expiresAt && now < session.lastUsedAt.adding(asked.checks.idleLimit)
    }

    /// First sight.
    private mutating func begin(_ login: Login, for asked: Admission) {
        guard sessions[login] == nil, let lifetime = asked.firstSightLifetime else { return }
        sessions[login] = Session(
            id: asked.proposedSessionRowID, subject: asked.idToken.subject, expiresAt: now.adding(lifetime),
            lastUsedAt: now)
    }

    private mutating func record(_ asked: Admission, _ login: Login, _ device: Device) -> GrantFacts {
        if deviceIsBlocked[device] == nil { deviceIsBlocked[device] = false }
        let place = Place(device: device, client: asked.request.client.id)
        if asked.request.client.isKnownByKey, let key = asked.request.proof?.key, pins[place] == nil {
            pins[place] = key
        }
        touch(login, idleLimit: asked.checks.idleLimit)
        auditRows += 1

        let sessionEnd = sessions[login]?.expiresAt ?? now
        let end = asked.checks.grantLifetime.map { min(now.adding($0), sessionEnd) } ?? sessionEnd
        let live = chains.first { _, chain in
            chain.session == login && chain.client == asked.request.client.id && chain.revokedAt == nil
        }
        let id = live?.key ?? asked.proposedGrantID
        let repeats = live.map { isRepeated(asked, $0.value) } ?? false
        let generation = (live?.value.generation ?? 0) + (repeats ? 0 : 1)
        chains[id] = Chain(
            session: login, client: asked.request.client.id, sourceClient: asked.idToken.sourceClient,
            device: asked.device,
            generation: generation, exchangedGeneration: generation, spent: live.map { spent(of: $0.value) } ?? [],
            rotatedAt: repeats ? live?.value.rotatedAt ?? now : now, revokedAt: nil, expiresAt: end,
            scope: asked.checks.scope,
            audiences: asked.request.client.audiences, login: asked.idToken.login, key: asked.request.proof?.key)
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
            && live.key == asked.request.proof?.key && live.sourceClient == asked.idToken.sourceClient
            && live.device == asked.device
            && live.scope == asked.checks.scope && live.audiences == asked.request.client.audiences
            && live.login == asked.idToken.login
    }
}
