import NativeSSO

extension RegistryState {
    mutating func advance(_ asked: Advancement) -> AdvanceFacts {
        let proofWasUsed = wasUsed(asked.proof)
        guard let chain = chains[asked.grantID], let session = sessions[chain.session] else {
            return AdvanceFacts(now: now, effect: .none, proofWasUsed: proofWasUsed, grant: nil)
        }
        let seen = facts(of: chain, session, key: chain.key)

        let place = Place(device: Device(issuer: chain.session.issuer, digest: chain.device), client: chain.client)
        let effect: AdvanceFacts.Effect
        if proofWasUsed || chain.revokedAt != nil || !shows(asked, theKeyOf: chain) {
            effect = .none
        } else if isMisuse(asked, of: chain) {
            effect = .revoked
            chains[asked.grantID]?.revokedAt = now
            chains[asked.grantID]?.wasReplayed =
                chain.client == asked.client && asked.generation + 2 <= chain.refreshedGeneration
            auditRows += 1
        } else if asked.generation == chain.generation, mayGoOn(asked, seen) {
            if chain.key == nil, let key = asked.proof?.key, asked.keyUse == .fixed {
                if let pinned = pins[place], pinned != key {
                    return AdvanceFacts(
                        now: now, effect: .none, grant: facts(of: chain, session, key: pinned))
                }
                pins[place] = key
            }
            effect = .advanced
            chains[asked.grantID]?.generation += 1
            chains[asked.grantID]?.refreshedGeneration = chain.generation + 1
            chains[asked.grantID]?.rotatedAt = now
            chains[asked.grantID]?.key = asked.proof?.key ?? chain.key
            touch(chain.session, idleLimit: asked.idleLimit)
        } else {
            effect = .none
        }
        return AdvanceFacts(now: now, effect: effect, proofWasUsed: proofWasUsed, grant: seen)
    }

    private func facts(of chain: Chain, _ session: Session, key: KeyThumbprint?) -> ChainFacts {
        let issuer = chain.session.issuer
        return ChainFacts(
            client: chain.client, generation: chain.generation, refreshedGeneration: chain.refreshedGeneration,
            rotatedAt: chain.rotatedAt,
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
            deviceIsBlocked: deviceIsBlocked[Device(issuer: issuer, digest: chain.device)] ?? false,
            key: key)
    }

    private func shows(_ asked: Advancement, theKeyOf chain: Chain) -> Bool {
        switch (chain.key, asked.proof?.key) {
        case (nil, _): true
        case (_?, nil): false
        case (let bound?, let presented?):
            bound == presented || asked.keyUse == .changeable && asked.client == chain.client
        }
    }

    /// Whether the token shows that someone else has a copy: another client's, one from the future, or one whose
    /// successor was used or has been waiting for longer than the grace.
    private func isMisuse(_ asked: Advancement, of chain: Chain) -> Bool {
        guard asked.client == chain.client, asked.generation <= chain.generation else { return true }
        switch chain.generation - asked.generation {
        case 0: return false
        case 1: return now >= chain.rotatedAt.adding(chain.key == nil ? asked.grace : asked.boundGrace)
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
