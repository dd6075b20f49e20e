import NativeSSO
import Testing

// What a registry says it saw is what was put there. Without this, a registry that misreads its rows could still agree
// with rules that judge by what it reports.

extension ExchangeScenario {
    func expectTruth(_ facts: AdmissionFacts, _ note: Comment) {
        #expect(facts.clientIsEnabled == clientIsEnabled, note)
        // What a source may have at most is of no concern here, and need not be read.
        #expect(facts.source?.group == sourceMember?.group && facts.source?.role == sourceMember?.role, note)
        #expect(facts.target == targetMember, note)
        #expect(facts.deviceIsBlocked == (deviceIsBlocked ?? false), note)
        #expect(facts.boundKey == (client.isKnownByKey ? pinnedKey : nil), note)
        #expect(facts.assertionWasUsed == (assertion != nil && assertion?.id == usedAssertion), note)
        #expect(facts.proofWasUsed == (!facts.assertionWasUsed && proof != nil && proof?.id == usedProof), note)
        let othersShare = otherAudience.allSatisfy { other in
            other == source || other == target && targetMember != nil && targetMember?.group == sourceMember?.group
        }
        #expect(facts.otherAudienceInGroup == othersShare, note)
        if let session, facts.grant == nil || facts.session?.id == session.id {
            session.expectTruth(facts.session, at: facts.now, note)
            #expect(facts.session?.hasAuthTime == (session.login.authenticatedAt != nil), note)
            #expect(facts.session?.iatAfter == session.iatAfter, note)
            if !session.isEnded { #expect(facts.session?.authTimeAfter == session.authTimeAfter, note) }
        } else if let session {
            // Another began under the name of a dead one.
            #expect(!accountIsDisabled && facts.session?.subject == subject && facts.session?.endedAt == nil, note)
            // It may have died since the rows were put.
            let idleIn = lifetimes.sessionIdle.count - session.lastUsed.count
            #expect(session.isEnded || min(session.expiresIn.count, idleIn) <= 30, note)
        } else {
            #expect((facts.session == nil) == (facts.grant == nil), note)
            #expect(facts.accountIsDisabled == accountIsDisabled, note)
        }
    }
}

extension RefreshScenario {
    func expectTruth(_ facts: RotationFacts, _ note: Comment) {
        #expect(facts.assertionWasUsed == (assertion != nil && assertion?.id == exchange.usedAssertion), note)
        #expect(
            facts.proofWasUsed == (!facts.assertionWasUsed && proof != nil && proof?.id == exchange.usedProof), note)
        guard let grant, let family = facts.grant else {
            #expect((grant == nil) == (facts.grant == nil), note)
            return
        }
        #expect(family.client == grant.client && family.generation == grant.generation, note)
        #expect(family.exchangedGeneration == grant.exchangedGeneration, note)
        #expect(family.wasSpent == grant.spent.contains { $0.contains(generation) }, note)
        #expect(family.cameLate == (grant.isRevoked && grant.cameLate), note)
        #expect((family.revokedAt != nil) == grant.isRevoked, note)
        #expect(isAbout(facts.now.since(family.rotatedAt), grant.rotated), note)
        #expect(isAbout(family.expiresAt.since(facts.now), grant.expiresIn), note)
        #expect(family.scope.tokens == grant.scope.tokens && family.audiences == grant.audiences, note)
        #expect(family.login == grant.login && family.claims == grant.claims && family.key == grant.key, note)
        #expect(family.keylessBefore == grant.keylessBefore && family.clientIsEnabled == exchange.clientIsEnabled, note)
        #expect(family.deviceIsBlocked == (exchange.deviceIsBlocked ?? false), note)
        let source = exchange.sourceMember
        let target = exchange.targetMember
        let shares =
            source != nil && target != nil && source?.group == target?.group && source?.role != .target
            && target?.role != .source
        #expect(family.sharesLogin == shares && family.scopeCeiling == target?.scopeCeiling, note)
        exchange.session?.expectTruth(family.session, at: facts.now, note)
        expectGapsSeen(facts, family, note)
    }

    /// A token that came late has the effect that the brokers' counts demand. Where a second more changes it, any will do.
    private func expectGapsSeen(_ facts: RotationFacts, _ family: FamilyFacts, _ note: Comment) {
        let isLate =
            !facts.assertionWasUsed && !facts.proofWasUsed && refusal(rotation, family, at: facts.now) == .late
        guard isLate else {
            #expect(facts.effect != .extended && facts.effect != .unsure, note)
            return
        }
        let grace = family.key == nil ? rotation.grace : exchange.lifetimes.refreshGrace
        let rotated = facts.now.since(family.rotatedAt).count
        let effects = (0...5).map { passed in
            ServiceHistory(
                service.gaps.map { ($0.began + passed, $0.ended + passed) },
                lastCount: service.lastCount.map { $0 + passed }
            ).effect(rotated: rotated, grace: grace.count)
        }
        if effects.allSatisfy({ $0 == effects[0] }) { #expect(facts.effect == effects[0], note) }
    }
}

extension SessionRow {
    fileprivate func expectTruth(_ facts: SessionFacts?, at now: UnixTime, _ note: Comment) {
        guard let facts else {
            Issue.record("the session is missing")
            return
        }
        #expect(facts.id == id && facts.subject == subject && (facts.endedAt != nil) == isEnded, note)
        #expect(isAbout(facts.expiresAt.since(now), expiresIn) && isAbout(now.since(facts.lastUsedAt), lastUsed), note)
    }
}

/// A real clock goes on between the rows and the question.
private func isAbout(_ seen: Seconds, _ put: Seconds) -> Bool { abs(seen.count - put.count) <= 30 }
