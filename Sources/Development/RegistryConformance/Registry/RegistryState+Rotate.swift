import NativeSSO

extension RegistryState {
    /// Gathers the facts, and does what the rules of the core say.
    mutating func rotate(_ asked: Rotation) -> RotationFacts {
        let assertionWasUsed = wasUsed(asked.request.assertion)
        let proofWasUsed = !assertionWasUsed && wasUsed(asked.request.proof)
        let seen = facts(of: asked)
        var effect = RotationFacts.Effect.none
        if let seen, !assertionWasUsed, !proofWasUsed {
            if let refusal = refusal(asked, seen, at: now) {
                if refusal.revokesChain {
                    effect = .revoked
                    revoke(asked.token.grantID, for: refusal)
                }
            } else if asked.token.generation == seen.generation {
                effect = .advanced
                advance(asked)
            }
        }
        return RotationFacts(
            now: now, effect: effect, proofWasUsed: proofWasUsed, assertionWasUsed: assertionWasUsed, grant: seen)
    }

    private func facts(of asked: Rotation) -> ChainFacts? {
        guard let chain = chains[asked.token.grantID], let session = sessions[chain.session] else { return nil }
        let source = members[Member(issuer: session.issuer, client: chain.sourceClient)]
        let target = members[Member(issuer: session.issuer, client: chain.client)]
        return ChainFacts(
            client: chain.client, generation: chain.generation, exchangedGeneration: chain.exchangedGeneration,
            keylessBefore: chain.keylessBefore, wasSpent: chain.spent.contains { $0.contains(asked.token.generation) },
            rotatedAt: chain.rotatedAt,
            revokedAt: chain.revokedAt, cameLate: chain.cameLate, expiresAt: chain.expiresAt, scope: chain.scope,
            audiences: chain.audiences, sessionID: session.sid, session: session.facts(id: chain.session),
            login: chain.login, clientIsEnabled: clientIsEnabled[chain.client] ?? false,
            sharesLogin: source != nil && source?.group == target?.group && source?.role != .target
                && target?.role != .source,
            scopeCeiling: target?.scopeCeiling,
            deviceIsBlocked: blockedDevices.contains(Device(issuer: session.issuer, digest: chain.device)),
            key: chain.key)
    }
}

extension RegistryState {
    private mutating func advance(_ asked: Rotation) {
        guard var chain = chains[asked.token.grantID] else { return }
        chain.generation += 1
        chain.rotatedAt = now
        chains[asked.token.grantID] = chain
        touch(chain.session, idleLimit: asked.lifetimes.sessionIdle)
    }

    private mutating func revoke(_ id: UniqueID, for refusal: RefreshRefusal) {
        guard var chain = chains[id] else { return }
        auditRows += 1
        if let revokedAt = chain.revokedAt { revokeSuccessors(of: chain, lateAt: revokedAt) }
        chain.revokedAt = chain.revokedAt ?? now
        chain.wasReplayed = refusal == .replayed
        chain.cameLate = refusal == .late
        chains[id] = chain
        if chain.wasReplayed { takeBackKey(of: chain) }
    }

    /// What began after a late token is revoked, too, unless its login came later.
    private mutating func revokeSuccessors(of late: Chain, lateAt: UnixTime) {
        for (other, chain) in chains where chain.session == late.session && chain.client == late.client {
            guard chain.revokedAt == nil, chain.login.authenticatedAt.map({ $0 <= lateAt }) ?? true else { continue }
            chains[other]?.revokedAt = now
            chains[other]?.wasReplayed = true
            takeBackKey(of: chain)
            auditRows += 1
        }
    }

    /// Takes back the binding of the client on the device, if it is the key of this family.
    private mutating func takeBackKey(of chain: Chain) {
        guard let session = sessions[chain.session] else { return }
        let place = Place(device: Device(issuer: session.issuer, digest: chain.device), client: chain.client)
        if let key = chain.key, boundKeys[place] == key { boundKeys[place] = nil }
    }
}
