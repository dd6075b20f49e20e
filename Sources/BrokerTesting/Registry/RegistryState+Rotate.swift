import NativeSSO

extension RegistryState {
    mutating func rotate(_ asked: Rotation) -> RotationFacts {
        let assertionWasUsed = wasUsed(asked.request.assertion)
        let proofWasUsed = !assertionWasUsed && wasUsed(asked.request.proof)
        guard let chain = chains[asked.token.grantID], let session = sessions[chain.session] else {
            return RotationFacts(
                now: now, effect: .none, proofWasUsed: proofWasUsed, assertionWasUsed: assertionWasUsed, grant: nil)
        }
        let wasSpent = chain.spent.contains { $0.contains(asked.token.generation) }
        let seen = facts(of: chain, session, key: chain.key, wasSpent: wasSpent)

        let place = Place(device: Device(issuer: chain.session.issuer, digest: chain.device), client: chain.client)
        let effect: RotationFacts.Effect
        if assertionWasUsed || proofWasUsed || chain.revokedAt != nil && !chain.cameLate
            || !shows(asked, theKeyOf: chain)
        {
            effect = .none
        } else if chain.cameLate {
            let isProof =
                asked.request.client.id == chain.client
                && (wasReused(asked, of: chain)
                    || asked.token.generation == chain.generation && asked.token.generation > chain.exchangedGeneration)
            if isProof { revokeSuccessors(of: asked.token.grantID, chain) }
            effect = isProof ? .revoked : .none
        } else if isMisuse(asked, of: chain) {
            effect = .revoked
            chains[asked.token.grantID]?.revokedAt = now
            let isOwn = chain.client == asked.request.client.id && asked.token.generation <= chain.generation
            let isReused = wasReused(asked, of: chain)
            chains[asked.token.grantID]?.wasReplayed = isOwn && isReused
            chains[asked.token.grantID]?.cameLate = isOwn && !isReused
            auditRows += 1
        } else if asked.token.generation == chain.generation, mayGoOn(asked, seen) {
            if chain.key == nil, let key = asked.request.proof?.key, asked.keyUse == .fixed {
                if let pinned = pins[place], pinned != key {
                    return RotationFacts(
                        now: now, effect: .none, grant: facts(of: chain, session, key: pinned, wasSpent: wasSpent))
                }
                pins[place] = key
            }
            effect = .advanced
            chains[asked.token.grantID]?.generation += 1
            chains[asked.token.grantID]?.rotatedAt = now
            chains[asked.token.grantID]?.key = asked.request.proof?.key ?? chain.key
            touch(chain.session, idleLimit: asked.lifetimes.sessionIdle)
        } else {
            effect = .none
        }
        return RotationFacts(
            now: now, effect: effect, proofWasUsed: proofWasUsed, assertionWasUsed: assertionWasUsed, grant: seen)
    }

    /// Two hold what came late: what began since goes, unless its login came later.
    private mutating func revokeSuccessors(of id: UniqueID, _ late: Chain) {
        chains[id]?.cameLate = false
        chains[id]?.wasReplayed = true
        auditRows += 1
        guard let revokedAt = late.revokedAt else { return }
        for (other, chain) in chains where chain.session == late.session && chain.client == late.client {
            guard chain.revokedAt == nil, chain.login.authenticatedAt.map({ $0 <= revokedAt }) ?? true else { continue }
            chains[other]?.revokedAt = now
            chains[other]?.wasReplayed = true
            auditRows += 1
        }
    }

    private func facts(of chain: Chain, _ session: Session, key: KeyThumbprint?, wasSpent: Bool) -> ChainFacts {
        let issuer = chain.session.issuer
        return ChainFacts(
            client: chain.client, generation: chain.generation, exchangedGeneration: chain.exchangedGeneration,
            wasSpent: wasSpent, rotatedAt: chain.rotatedAt, revokedAt: chain.revokedAt, cameLate: chain.cameLate,
            expiresAt: chain.expiresAt, scope: chain.scope, audiences: chain.audiences,
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

    private func shows(_ asked: Rotation, theKeyOf chain: Chain) -> Bool {
        switch (chain.key, asked.request.proof?.key) {
        case (nil, _): true
        case (_?, nil): false
        case (let bound?, let presented?):
            bound == presented || asked.keyUse == .changeable && asked.request.client.id == chain.client
        }
    }

    /// Whether what a refresh made of the token was presented, too.
    private func wasReused(_ asked: Rotation, of chain: Chain) -> Bool {
        chain.spent.contains { $0.contains(asked.token.generation) }
            || asked.token.generation >= chain.exchangedGeneration && asked.token.generation <= chain.generation - 2
    }

    /// Whether the token shows that someone else has a copy: another client's, one from the future, one that was reused, or one
    /// whose successor has been waiting for longer than the grace.
    private func isMisuse(_ asked: Rotation, of chain: Chain) -> Bool {
        guard asked.request.client.id == chain.client, asked.token.generation <= chain.generation else { return true }
        if wasReused(asked, of: chain) { return true }
        guard asked.token.generation == chain.generation - 1, asked.token.generation >= chain.exchangedGeneration else {
            return false
        }
        return now >= chain.rotatedAt.adding(chain.key == nil ? asked.grace : asked.lifetimes.refreshGrace)
    }

    private func mayGoOn(_ asked: Rotation, _ chain: ChainFacts) -> Bool {
        let held = Set(chain.scope.tokens)
        let allowed = Set(asked.request.client.allowedScope.tokens).intersection(
            chain.scopeCeiling?.tokens ?? asked.request.client.allowedScope.tokens)
        let wanted = asked.scope.map { Set($0.tokens) }
        let scopeFits = wanted?.isSubset(of: held.intersection(allowed)) ?? true
        return chain.clientIsEnabled && chain.sharesLogin && !chain.deviceIsBlocked
            && now < chain.expiresAt && chain.session.endedAt == nil && now < chain.session.expiresAt
            && now < chain.session.lastUsedAt.adding(asked.lifetimes.sessionIdle)
            && scopeFits && !(wanted ?? held).isDisjoint(with: allowed)
    }
}
