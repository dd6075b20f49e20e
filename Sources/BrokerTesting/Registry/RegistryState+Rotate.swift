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
                if let bound = bind(asked, seen) {
                    return RotationFacts(now: now, effect: .none, grant: facts(of: asked, key: bound))
                }
                effect = .advanced
                advance(asked)
            }
        }
        return RotationFacts(
            now: now, effect: effect, proofWasUsed: proofWasUsed, assertionWasUsed: assertionWasUsed, grant: seen)
    }

    /// - Parameter key: What the family counts as bound to, if not to its own.
    private func facts(of asked: Rotation, key: KeyThumbprint? = nil) -> ChainFacts? {
        guard let chain = chains[asked.token.grantID], let session = sessions[chain.session] else { return nil }
        let source = members[Member(issuer: session.issuer, client: chain.sourceClient)]
        let target = members[Member(issuer: session.issuer, client: chain.client)]
        return ChainFacts(
            client: chain.client, generation: chain.generation, exchangedGeneration: chain.exchangedGeneration,
            wasSpent: chain.spent.contains { $0.contains(asked.token.generation) }, rotatedAt: chain.rotatedAt,
            revokedAt: chain.revokedAt, cameLate: chain.cameLate, expiresAt: chain.expiresAt, scope: chain.scope,
            audiences: chain.audiences, sessionID: session.sid, session: session.facts(id: chain.session),
            login: chain.login, clientIsEnabled: clientIsEnabled[chain.client] ?? false,
            sharesLogin: source != nil && source?.group == target?.group && source?.role != .target
                && target?.role != .source,
            scopeCeiling: target?.scopeCeiling,
            deviceIsBlocked: blockedDevices.contains(Device(issuer: session.issuer, digest: chain.device)),
            key: key ?? chain.key)
    }
}

extension RegistryState {
    /// Binds an unbound family, and its client on the device, to the key that was shown.
    /// - Returns: The key that the client has there already, if it is another.
    private mutating func bind(_ asked: Rotation, _ seen: ChainFacts) -> KeyThumbprint? {
        guard seen.key == nil, let key = asked.request.proof?.key, asked.keyUse == .fixed,
            let chain = chains[asked.token.grantID], let session = sessions[chain.session]
        else { return nil }
        let place = Place(device: Device(issuer: session.issuer, digest: chain.device), client: chain.client)
        if let bound = boundKeys[place], bound != key { return bound }
        boundKeys[place] = key
        return nil
    }

    private mutating func advance(_ asked: Rotation) {
        guard var chain = chains[asked.token.grantID] else { return }
        chain.generation += 1
        chain.rotatedAt = now
        chain.key = asked.request.proof?.key ?? chain.key
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
    }

    /// What began after a late token is revoked, too, unless its login came later.
    private mutating func revokeSuccessors(of late: Chain, lateAt: UnixTime) {
        for (other, chain) in chains where chain.session == late.session && chain.client == late.client {
            guard chain.revokedAt == nil, chain.login.authenticatedAt.map({ $0 <= lateAt }) ?? true else { continue }
            chains[other]?.revokedAt = now
            chains[other]?.wasReplayed = true
            auditRows += 1
        }
    }
}
