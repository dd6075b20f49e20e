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
                if refusal.revokesGrant {
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

    private func facts(of asked: Rotation) -> FamilyFacts? {
        guard let family = families[asked.token.grantID], let session = sessions[family.session] else { return nil }
        let source = members[Member(issuer: session.issuer, client: family.sourceClient)]
        let target = members[Member(issuer: session.issuer, client: family.client)]
        return FamilyFacts(
            client: family.client, generation: family.generation, exchangedGeneration: family.exchangedGeneration,
            keylessBefore: family.keylessBefore,
            wasSpent: family.spent.contains { $0.contains(asked.token.generation) },
            rotatedAt: family.rotatedAt,
            revokedAt: family.revokedAt, cameLate: family.cameLate, expiresAt: family.expiresAt, scope: family.scope,
            audiences: family.audiences, provider: session.issuer, session: session.facts(id: family.session),
            login: family.login, claims: family.claims, clientIsEnabled: clientIsEnabled[family.client] ?? false,
            sharesLogin: source != nil && source?.group == target?.group && source?.role != .target
                && target?.role != .source,
            scopeCeiling: target?.scopeCeiling,
            deviceIsBlocked: blockedDevices.contains(Device(issuer: session.issuer, digest: family.device)),
            key: family.key)
    }
}

extension RegistryState {
    private mutating func advance(_ asked: Rotation) {
        guard var family = families[asked.token.grantID] else { return }
        family.generation += 1
        family.rotatedAt = now
        families[asked.token.grantID] = family
        touch(family.session, idleLimit: asked.lifetimes.sessionIdle)
    }

    private mutating func revoke(_ id: UniqueID, for refusal: RefreshRefusal) {
        guard var family = families[id] else { return }
        auditRows += 1
        if let revokedAt = family.revokedAt { revokeSuccessors(of: family, lateAt: revokedAt) }
        family.revokedAt = family.revokedAt ?? now
        family.wasReplayed = refusal == .replayed
        family.cameLate = refusal == .late
        family.claims = CopiedClaims()
        families[id] = family
        if family.wasReplayed { takeBackKey(of: family) }
    }

    /// What began after a late token is revoked, too, unless its login came later.
    private mutating func revokeSuccessors(of late: TokenFamily, lateAt: UnixTime) {
        for (other, family) in families where family.session == late.session && family.client == late.client {
            guard family.revokedAt == nil, family.login.authenticatedAt.map({ $0 <= lateAt }) ?? true else { continue }
            families[other]?.revokedAt = now
            families[other]?.wasReplayed = true
            families[other]?.claims = CopiedClaims()
            takeBackKey(of: family)
            auditRows += 1
        }
    }

    /// Takes back the binding of the client on the device, if it is the key of this family.
    private mutating func takeBackKey(of family: TokenFamily) {
        guard let session = sessions[family.session] else { return }
        let place = Place(device: Device(issuer: session.issuer, digest: family.device), client: family.client)
        if let key = family.key, boundKeys[place] == key { boundKeys[place] = nil }
    }
}
