/// Native SSO §4.3 from what the broker and the registry saw, in the order of the contract. Pure.
///
/// The registry's statement guards the write by the same rules; a property test holds the two equal, and where they
/// disagree all the same the answer is an error of ours, never a token.
package func decide(_ asked: Admission, _ facts: AdmissionFacts) throws(ExchangeError) -> GrantFacts {
    if let refusal = refusal(asked, facts) {
        guard facts.grant == nil else {
            throw .broken("a grant was recorded for a refused exchange: \(refusal)")
        }
        throw .refused(refusal)
    }
    guard let grant = facts.grant else { throw .broken("no grant was recorded for an exchange that breaks no rule") }
    return grant
}

/// The first rule that says no.
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
    guard let session = facts.session else {
        // The registry makes the session only together with the grant, so here it may still be missing for a request
        // that is refused for a later reason.
        return asked.checks.firstSightRefusal
    }
    if let subject = session.subject {
        guard subject == asked.idToken.subject else { return .subjectMismatch }
    } else if session.endedAt == nil {
        return .sessionEnded  // a login of nobody is no login
    }
    let counts = session.counts(asked.idToken)
    guard let death = session.refusal(idleLimit: asked.checks.idleLimit, at: facts.now) else {
        return counts ? nil : .subjectTokenBeforeEnd
    }
    // A later login may begin another session under the name of a dead one.
    let begins =
        counts && asked.checks.firstSightRefusal == nil
        && session.makesRoom(for: asked.idToken, after: death, idleLimit: asked.checks.idleLimit)
    return begins ? nil : ExchangeRefusal(death)
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

extension ExchangeRefusal {
    init(_ death: SessionDeath) {
        switch death {
        case .ended: self = .sessionEnded
        case .expired: self = .sessionExpired
        case .idle: self = .sessionIdle
        }
    }
}
