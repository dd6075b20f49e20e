/// Decides an exchange by the rules of Native SSO §4.3, from the request checks and the facts of the registry. Pure.
///
/// The registry's statement guards the write by the same rules, and a property test compares the two. If they
/// disagree, the answer is a defect of the broker, never a token.
package func decide(_ asked: Admission, _ facts: AdmissionFacts) throws(ExchangeError) -> GrantFacts {
    if let refusal = refusal(asked, facts) {
        guard facts.grant == nil else { throw .broken("a grant was recorded for a refused exchange: \(refusal)") }
        throw .refused(refusal)
    }
    guard let grant = facts.grant else { throw .broken("no grant was recorded for an exchange that breaks no rule") }
    return grant
}

/// The first rule that refuses.
package func refusal(_ asked: Admission, _ facts: AdmissionFacts) -> ExchangeRefusal? {
    if facts.assertionWasUsed { return .assertionReplayed }
    if facts.proofWasUsed { return .proofReplayed }
    let checks = asked.checks
    return checks.binding ?? groupRefusal(asked, facts) ?? sessionRefusal(asked, facts) ?? deviceRefusal(asked, facts)
        ?? checks.scopeRefusal ?? ceilingRefusal(asked, facts) ?? checks.interaction
        ?? (facts.needsLaterLogin ? .loginAfterReplay : nil)
}

/// May these two clients share a login, in this direction? Asked before the session, so that an app outside the group
/// learns nothing of it.
private func groupRefusal(_ asked: Admission, _ facts: AdmissionFacts) -> ExchangeRefusal? {
    guard facts.clientIsEnabled else { return .clientDisabled }
    guard let target = facts.target else { return .clientNotInGroup }
    guard let source = facts.source else { return .sourceNotInGroup }
    guard source.group == target.group else { return .otherGroup }
    guard source.isSource, target.isTarget else { return .directionForbidden }
    guard facts.otherAudienceInGroup else { return .audienceOutsideGroup }
    let client = asked.request.client
    guard client.id != asked.idToken.sourceClient || client.allowsSelfExchange else { return .selfExchange }
    return nil
}

private func sessionRefusal(_ asked: Admission, _ facts: AdmissionFacts) -> ExchangeRefusal? {
    if facts.tokenIsCovered { return .sessionEnded }
    guard let session = facts.session else {
        // The registry makes the session only together with the grant, so here it may still be missing for a request
        // that is refused for a later reason.
        return asked.checks.firstSightRefusal ?? (facts.accountIsDisabled ? .accountDisabled : nil)
    }
    if let subject = session.subject {
        guard subject == asked.idToken.subject else { return .subjectMismatch }
    } else if session.endedAt == nil {
        return .sessionEnded  // a live session has a user
    }
    let counts = session.counts(asked.idToken)
    guard let death = session.refusal(idleLimit: asked.checks.idleLimit, at: facts.now) else {
        return counts ? nil : .subjectTokenBeforeEnd
    }
    // A later login may begin another session under the name of a dead one.
    let begins =
        counts && asked.checks.firstSightRefusal == nil
        && session.makesRoom(for: asked.idToken, after: death, idleLimit: asked.checks.idleLimit)
    guard begins else { return death.among(.sessionEnded, .sessionExpired, .sessionIdle) }
    return facts.accountIsDisabled ? .accountDisabled : nil
}

private func deviceRefusal(_ asked: Admission, _ facts: AdmissionFacts) -> ExchangeRefusal? {
    if facts.deviceIsBlocked { return .deviceBlocked }
    // An attacker who copies id_token and device value to another device does not have the key there.
    guard asked.request.client.isKnownByKey, let bound = facts.boundKey else { return nil }
    return bound == asked.request.proof?.key ? nil : .pinConflict
}

private func ceilingRefusal(_ asked: Admission, _ facts: AdmissionFacts) -> ExchangeRefusal? {
    guard let ceiling = facts.target?.scopeCeiling else { return nil }
    return asked.checks.scope.isSubset(of: ceiling) ? nil : .scopeExceedsMember
}

/// Why an exchange is refused. `BrokerHTTP` has the table: reason, answer, cause and remedy of each case.
package enum ExchangeRefusal: Error, Sendable, CaseIterable {
    /// `may_act` names another client. RFC 8693 §4.4.
    case mayActOther

    /// The client's assertion was used before, at any replica. RFC 7523 §3, 7.
    case assertionReplayed
    /// The DPoP proof was used before, at any replica. RFC 9449 §11.1.
    case proofReplayed

    // State, binding, relationship: Native SSO §4.3. One answer for all of them.
    case subjectTokenTooOld
    case subjectTokenExpired
    case deviceHashMismatch
    case selfExchange
    case sourceNotInGroup
    case clientNotInGroup
    case otherGroup
    case directionForbidden
    case audienceOutsideGroup
    case clientDisabled
    case sessionUnknown
    /// The session is unknown, and the key of the id_token has left the identity provider's key set.
    case firstSightKeyNotCurrent
    /// The session is unknown, and the id_token is too old to begin it.
    case firstSightTokenTooOld
    /// The session is unknown, and an expired id_token may not begin it.
    case firstSightTokenExpired
    /// The session is live, but an earlier one of the same name ended after this id_token, or its login.
    case subjectTokenBeforeEnd
    case sessionEnded
    case sessionExpired
    case sessionIdle
    case subjectMismatch
    /// The identity provider has disabled the user's account. RISC 1.0 §2.3.
    case accountDisabled
    case deviceBlocked
    /// The client is bound to another key on this device, or sent no proof.
    case pinConflict

    // Scope: RFC 6749 §3.3.
    case scopeLacksOpenID
    case scopeEmpty
    case scopeExceedsClient
    case scopeExceedsMember

    // The user must act: Native SSO §4.4.
    case consentRequired
    case assuranceInsufficient
    /// Reuse detection fired for this client in this session. The holder of the id_token may be the thief, so only a
    /// later login continues. RFC 9700 §4.14.2.
    case loginAfterReplay
}

/// Why a session is no longer live.
package enum SessionDeath: Sendable, Hashable {
    /// By logout or by an operator.
    case ended
    /// Its absolute lifetime is over.
    case expired
    /// No app used it for longer than the idle limit.
    case idle

    /// The one of three refusals that fits.
    func among<Refusal>(_ ended: Refusal, _ expired: Refusal, _ idle: Refusal) -> Refusal {
        switch self {
        case .ended: ended
        case .expired: expired
        case .idle: idle
        }
    }
}

extension SessionFacts {
    /// `nil` while the session is live. At the second of its expiry it is over.
    package func refusal(idleLimit: Seconds, at now: UnixTime) -> SessionDeath? {
        if endedAt != nil { return .ended }
        if now >= expiresAt { return .expired }
        if now.since(lastUsedAt) >= idleLimit { return .idle }
        return nil
    }

    /// Whether an id_token counts after the ends of this name. Instants are compared exactly, without leeway.
    func counts(_ idToken: IDTokenClaims) -> Bool {
        if let iatAfter, idToken.issuedAt <= iatAfter { return false }
        guard let authTimeAfter else { return true }
        return idToken.login.authenticatedAt.map { $0 > authTimeAfter } ?? false
    }

    /// Whether `idToken` may begin a new session under the name of one that ended by `death`. ``counts(_:)`` judges
    /// recorded ends. After the idle limit the id_token must be later; after the absolute lifetime its login must be
    /// later.
    func makesRoom(for idToken: IDTokenClaims, after death: SessionDeath, idleLimit: Seconds) -> Bool {
        switch death {
        case .ended: true
        case .expired where hasAuthTime: idToken.login.authenticatedAt.map { $0 > expiresAt } ?? false
        case .expired: idToken.issuedAt > expiresAt
        case .idle: idToken.issuedAt > lastUsedAt.adding(idleLimit)
        }
    }
}
