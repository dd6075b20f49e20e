import StrictCoding

/// The effect of a presented refresh token.
package enum RefreshDecision: Sendable, Equatable {
    /// The token was current, and the family has a new generation.
    case advanced
    /// The token had a successor, which may have been lost: the app gets the same successor again.
    case redelivered
}

/// Decides a refresh from the facts of the registry. Pure; a property test compares it with the statement.
package func decide(_ asked: Rotation, _ facts: RotationFacts) throws(RefreshError) -> (RefreshDecision, FamilyFacts) {
    if facts.assertionWasUsed || facts.proofWasUsed {
        guard facts.effect == .none else { throw .broken("the registry \(facts.effect.rawValue) for what was used") }
        throw .refused(facts.assertionWasUsed ? .assertionReplayed : .proofReplayed)
    }
    guard let family = facts.grant else { throw .refused(.grantUnknown) }
    // The registry alone knows the gaps. What it says of them is believed of a token that came late, and of no other.
    let isInGap = facts.effect == .extended || facts.effect == .unsure
    if isInGap, refusal(asked, family, at: facts.now) != .late {
        throw .broken("the registry \(facts.effect.rawValue) for a token that is not late")
    }
    let harmless = isInGap ? facts.effect : .none
    if let refusal = refusal(asked, family, at: facts.now, isInGap: isInGap) {
        guard facts.effect == (refusal.revokesGrant ? .revoked : harmless) else {
            throw .broken("the registry \(facts.effect.rawValue) where the rules say \(refusal)")
        }
        throw .refused(refusal)
    }
    if facts.effect == .unsure {
        throw .outage(Outage(.database, "no broker has counted for 6 s, so a late refresh token cannot be judged"))
    }
    let decision: RefreshDecision = asked.token.generation == family.generation ? .advanced : .redelivered
    guard facts.effect == (decision == .advanced ? .advanced : harmless) else {
        throw .broken("the registry \(facts.effect.rawValue) where the rules say \(decision)")
    }
    return (decision, family)
}

/// The first rule that refuses.
/// - Parameter isInGap: Whether a gap of service has extended the grace period, or perhaps goes on.
package func refusal(
    _ asked: Rotation, _ family: FamilyFacts, at now: UnixTime, isInGap: Bool = false
) -> RefreshRefusal? {
    if family.revokedAt != nil {
        let isProof = family.cameLate && family.client == asked.request.client.id && keyRefusal(asked, family) == nil
        return isProof && showsTwoHolders(asked, family) ? .replayed : .grantRevoked
    }
    // Precedes reuse detection: a thief with an old token, but without the key, must not log the user out.
    if let refusal = keyRefusal(asked, family) { return refusal }
    if family.client != asked.request.client.id { return .foreignClient }
    if asked.token.generation > family.generation { return .stateRegressed }
    if showsTwoHolders(asked, family) { return .replayed }
    if asked.token.generation < family.exchangedGeneration { return .superseded }
    if asked.token.generation < family.generation, !isInGap, !isWithinGrace(asked, family, at: now) { return .late }
    if now >= family.expiresAt { return .grantExpired }
    if !family.clientIsEnabled { return .clientDisabled }
    if !family.sharesLogin { return .sharingEnded }
    if let death = family.session.refusal(idleLimit: asked.lifetimes.sessionIdle, at: now) {
        return death.among(.sessionEnded, .sessionExpired, .sessionIdle)
    }
    if family.deviceIsBlocked { return .deviceBlocked }
    if let resource = asked.request.resource, !family.audiences.contains(where: resource.hasSameOctets) {
        return .resourceExceedsGrant
    }
    if let scope = asked.scope, !scope.isSubset(of: family.scope) || !scope.isSubset(of: asked.allowedScope(in: family))
    {
        return .scopeExceedsGrant
    }
    if asked.grantedScope(of: family).isEmpty { return .scopeEmpty }
    return nil
}

/// A bound family never yields a bearer token, or a token for another key. RFC 9449 §5, §11.3. A token from before the
/// binding needs no key: an exchange replaced it, so it can only show reuse, or that another client has it.
private func keyRefusal(_ asked: Rotation, _ family: FamilyFacts) -> RefreshRefusal? {
    guard let bound = family.key, asked.token.generation >= family.keylessBefore else { return nil }
    guard let presented = asked.request.proof?.key else {
        return asked.request.client.proofPolicy == .off ? .proofsOff : .proofMissing
    }
    let isClientsToChange = asked.mayChangeKey && asked.request.client.id == family.client
    return presented == bound || isClientsToChange ? nil : .keyMismatch
}

/// Whether a successor that a refresh made of this token was presented itself: before this token returned, or just now
/// if the grant was revoked because its predecessor came late. An exchange proves nothing of the kind: the token it
/// replaced may have been lost, or be held by another part of the same app. The table is at the head of refresh.sql.
private func showsTwoHolders(_ asked: Rotation, _ family: FamilyFacts) -> Bool {
    family.wasSpent
        || family.cameLate && asked.token.generation == family.generation
            && asked.token.generation > family.exchangedGeneration
        || asked.token.generation >= family.exchangedGeneration && asked.token.generation <= family.generation - 2
}

/// Only the direct predecessor has a grace period. If its successor had been used, the family would be further on.
/// If no answer with the successor could be made, the registry moved ``FamilyFacts/rotatedAt`` to the end of the grant.
private func isWithinGrace(_ asked: Rotation, _ family: FamilyFacts, at now: UnixTime) -> Bool {
    let grace = family.key == nil ? asked.grace : asked.lifetimes.refreshGrace
    return asked.token.generation == family.generation - 1 && now.since(family.rotatedAt) < grace
}

extension Rotation {
    /// The scope of the new access token: the requested scope without what the client or its membership has lost since.
    func grantedScope(of family: FamilyFacts) -> Scope {
        (scope ?? family.scope).intersection(allowedScope(in: family))
    }

    fileprivate func allowedScope(in family: FamilyFacts) -> Scope {
        let allowed = request.client.allowedScope
        return family.scopeCeiling.map(allowed.intersection) ?? allowed
    }
}

package enum RefreshRefusal: Error, Sendable, CaseIterable {
    /// Not a token of ours: wrong form, unknown key or wrong tag. No database was asked.
    case tokenNotOurs
    /// The client's assertion was used before, at any replica. RFC 7523 §3, 7.
    case assertionReplayed
    /// The DPoP proof was used before, at any replica. RFC 9449 §11.1.
    case proofReplayed
    case grantUnknown
    case grantRevoked
    case grantExpired
    /// The family is bound to a key, and the app showed no proof. RFC 9449 §5.
    case proofMissing
    /// The family is bound to another key.
    case keyMismatch
    /// The family is bound to a key, and the client's policy is off now.
    case proofsOff
    /// Issued to another client, so the token was copied: the grant is revoked.
    case foreignClient
    /// Spent, and its successor used: two parties hold the family. The grant is revoked, and only a later login begins
    /// another. RFC 9700 §4.14.2.
    case replayed
    /// Spent, its successor unused, and the grace period over: the app lost the answer, or the token was copied.
    /// The grant is revoked; an exchange begins another.
    case late
    /// Issued before an exchange that restarted the family, and not spent by a refresh: another part of the app
    /// presents it, or the same part after a lost answer. The family continues for the app that exchanged; this one
    /// exchanges again.
    case superseded
    /// The broker issued this generation, but the database is behind it: it lost writes. The grant is revoked.
    case stateRegressed
    case clientDisabled
    case sharingEnded
    case sessionEnded
    case sessionExpired
    case sessionIdle
    case deviceBlocked
    /// `resource` is none of the grant's audiences. RFC 8707 §2.2.
    case resourceExceedsGrant
    case scopeExceedsGrant
    case scopeEmpty
    /// The configuration no longer tells this user from those of other identity providers. The statement does not know
    /// the configuration, so the family may have advanced; the retry gets the same refusal.
    case subjectAmbiguous

    /// Whether the token shows that two parties hold the family, so that the grant is revoked. RFC 9700 §4.14.2.
    package var revokesGrant: Bool {
        switch self {
        case .foreignClient, .replayed, .late, .stateRegressed: true
        default: false
        }
    }
}
