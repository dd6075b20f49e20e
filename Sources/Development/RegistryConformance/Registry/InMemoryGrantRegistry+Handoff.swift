package import NativeSSO

extension InMemoryGrantRegistry: HandoffRegistry {
    package func make(_ entry: HandoffEntry) async throws(PortError) -> HandoffFacts {
        try call { $0.make(entry) }
    }

    package func handoff(_ code: HandoffDigest) async throws(PortError) -> KeptHandoff? {
        try call { $0.handoffs[code]?.kept }
    }

    package func redeem(_ redemption: HandoffRedemption) async throws(PortError) -> RedemptionFacts {
        try call { $0.redeem(redemption) }
    }
}

extension RegistryState {
    struct Handoff {
        let kept: KeptHandoff
        let app: ClientID
        let appIsBound: Bool
        var expiresAt: UnixTime
        var isRedeemed = false
    }

    fileprivate mutating func make(_ entry: HandoffEntry) -> HandoffFacts {
        let (app, web) = (judge(entry.app), judge(entry.web))
        let kept = KeptHandoff(entry)
        let permission = members[Member(issuer: kept.idToken.issuer, client: entry.app.request.client.id)]?.handoff
        func facts(isKept: Bool) -> HandoffFacts {
            HandoffFacts(
                app: app, web: web, permission: permission,
                takesOrigin: takesOrigin(kept), isKept: isKept)
        }
        guard refusal(entry, facts(isKept: false)) == nil else { return facts(isKept: false) }
        handoffs[entry.code] = Handoff(
            kept: kept, app: entry.app.request.client.id, appIsBound: entry.appIsBound,
            expiresAt: now.adding(HandoffCode.life))
        auditRows += 1
        return facts(isKept: true)
    }

    fileprivate mutating func redeem(_ asked: HandoffRedemption) -> RedemptionFacts {
        let standing = standing(of: asked)
        guard standing == .good else { return RedemptionFacts(standing: standing, web: judge(asked.web)) }
        let web = admit(asked.web)
        if web.grant != nil {
            handoffs[asked.code]?.isRedeemed = true
            auditRows += 1
        }
        return RedemptionFacts(standing: .good, web: web)
    }

    private func standing(of asked: HandoffRedemption) -> RedemptionFacts.Standing {
        guard let handoff = handoffs[asked.code], handoff.kept.client == asked.web.request.client.id,
            handoff.kept.origin == asked.origin, handoff.kept.challenge == asked.challenge
        else { return .unknown }
        if handoff.isRedeemed { return .used }
        if now >= handoff.expiresAt { return .expired }
        let permission = members[Member(issuer: handoff.kept.idToken.issuer, client: handoff.app)]?.handoff
        let isAllowed = permission == .dpop || permission == .bearer && !handoff.appIsBound
        guard clientIsEnabled[handoff.app] == true, isAllowed, takesOrigin(handoff.kept) else { return .withdrawn }
        return .good
    }

    private func takesOrigin(_ kept: KeptHandoff) -> Bool {
        members[Member(issuer: kept.idToken.issuer, client: kept.client)]?.handoffOrigins.contains(kept.origin) ?? false
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
