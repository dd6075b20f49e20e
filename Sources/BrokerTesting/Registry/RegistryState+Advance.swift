import NativeSSO

extension RegistryState {
    mutating func advance(_ asked: Advancement) -> AdvanceFacts {
        guard let chain = chains[asked.grantID], let session = sessions[chain.session] else {
            return AdvanceFacts(now: now, effect: .none, grant: nil)
        }
        let issuer = chain.session.issuer
        let facts = ChainFacts(
            client: chain.client, generation: chain.generation, rotatedAt: chain.rotatedAt,
            revokedAt: chain.revokedAt, expiresAt: chain.expiresAt, scope: chain.scope, audiences: chain.audiences,
            sessionID: chain.session.sid,
            session: SessionFacts(
                id: session.id, subject: session.subject, endedAt: session.endedAt,
                expiresAt: session.expiresAt, lastUsedAt: session.lastUsedAt),
            login: chain.login, clientIsEnabled: clientIsEnabled[chain.client] ?? false,
            sharesLogin: mayShare(
                from: members[Member(issuer: issuer, client: chain.sourceClient)],
                to: members[Member(issuer: issuer, client: chain.client)]),
            scopeCeiling: members[Member(issuer: issuer, client: chain.client)]?.scopeCeiling,
            deviceIsBlocked: deviceIsBlocked[Device(issuer: issuer, digest: chain.device)] ?? false)

        let effect: AdvanceFacts.Effect
        if chain.revokedAt != nil {
            effect = .none
        } else if isMisuse(asked, of: chain) {
            effect = .revoked
            chains[asked.grantID]?.revokedAt = now
            auditRows += 1
        } else if asked.generation == chain.generation, mayGoOn(asked, facts) {
            effect = .advanced
            chains[asked.grantID]?.generation += 1
            chains[asked.grantID]?.rotatedAt = now
            touch(chain.session, idleLimit: asked.idleLimit)
        } else {
            effect = .none
        }
        return AdvanceFacts(now: now, effect: effect, grant: facts)
    }

    /// Whether the token shows that someone else has a copy: another client's, one from the future, or one whose
    /// successor was used or has been waiting for longer than the grace.
    private func isMisuse(_ asked: Advancement, of chain: Chain) -> Bool {
        guard asked.client == chain.client, asked.generation <= chain.generation else { return true }
        switch chain.generation - asked.generation {
        case 0: return false
        case 1: return now >= chain.rotatedAt.adding(asked.grace)
        default: return true
        }
    }

    private func mayGoOn(_ asked: Advancement, _ chain: ChainFacts) -> Bool {
        let held = Set(chain.scope.tokens)
        let allowed = Set(asked.allowedScope.tokens).intersection(
            chain.scopeCeiling?.tokens ?? asked.allowedScope.tokens)
        let wanted = asked.scope.map { Set($0.tokens) }
        let scopeFits = wanted?.isSubset(of: held.intersection(allowed)) ?? true
        return chain.clientIsEnabled && chain.sharesLogin && !chain.deviceIsBlocked
            && now < chain.expiresAt && chain.session.endedAt == nil && now < chain.session.expiresAt
            && now < chain.session.lastUsedAt.adding(asked.idleLimit)
            && scopeFits && !(wanted ?? held).isDisjoint(with: allowed)
    }
}
