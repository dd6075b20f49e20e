/// The decision on an enrolment from what the broker and the registry saw. Pure.
///
/// The registry's statement guards the write by the same rules; where the two disagree all the same, the answer is an error of
/// ours, never a token.
package func decide(
    _ asked: EnrolmentEntry, _ facts: EnrolmentFacts
) throws(EnrolmentError) -> EnrolledSession {
    if let refusal = refusal(asked, facts) {
        guard facts.session == nil else {
            throw .broken("a session was recorded for a refused enrolment: \(refusal)")
        }
        throw .refused(refusal)
    }
    guard let session = facts.session else {
        throw .broken("no session was recorded for an enrolment that breaks no rule")
    }
    return session
}

private func refusal(_ asked: EnrolmentEntry, _ facts: EnrolmentFacts) -> EnrolmentRefusal? {
    if facts.assertionWasUsed { return .assertionReplayed }
    if facts.proofWasUsed { return .proofReplayed }
    return asked.checks.binding ?? clientRefusal(facts) ?? stateRefusal(asked, facts) ?? asked.checks.scopeRefusal
}

/// Only an app whose logins others may use has anything to enrol.
private func clientRefusal(_ facts: EnrolmentFacts) -> EnrolmentRefusal? {
    guard facts.clientIsEnabled else { return .clientDisabled }
    guard let membership = facts.membership else { return .clientNotInGroup }
    return membership.isSource ? nil : .directionForbidden
}

private func stateRefusal(_ asked: EnrolmentEntry, _ facts: EnrolmentFacts) -> EnrolmentRefusal? {
    if facts.loginHasEnded { return .loginEnded }
    if facts.deviceIsBlocked { return .deviceBlocked }
    if asked.request.client.isKnownByKey, let bound = facts.boundKey, bound != asked.request.proof?.key {
        return .pinConflict
    }
    return facts.tokenIsUsed ? .tokenUsed : nil
}
