/// The first rule that refuses a hand-off. Pure. The registry's statement guards the code by the same rules.
package func refusal(_ asked: HandoffEntry, _ facts: HandoffFacts) -> HandoffFailure? {
    if let refusal = refusal(asked.app, facts.app) { return .exchange(refusal, by: asked.app.request.client) }
    switch facts.permission {
    case nil: return .handoff(.notAllowed)
    case .bearer where asked.appIsBound: return .handoff(.boundApp)
    case .bearer, .dpop: break
    }
    guard facts.takesOrigin else { return .handoff(.originNotRegistered) }
    // The app asks, but the web app is the client that these rules refuse. The reason must name the web app.
    return switch refusal(asked.web, facts.web) {
    case .clientNotInGroup, .otherGroup, .directionForbidden: .handoff(.webAppOutsideGroup)
    case .clientDisabled: .handoff(.webAppUnusable)
    case let refusal?: .exchange(refusal, by: asked.web.request.client)
    case nil: nil
    }
}

/// The first rule that refuses a redemption after the binding. Pure.
package func refusal(_ asked: HandoffRedemption, _ facts: RedemptionFacts) -> HandoffFailure? {
    let client = asked.web.request.client
    if facts.web.assertionWasUsed { return .exchange(.assertionReplayed, by: client) }
    if facts.web.proofWasUsed { return .exchange(.proofReplayed, by: client) }
    switch facts.standing {
    case .good: return refusal(asked.web, facts.web).map { .exchange($0, by: client) }
    case .unknown: return .handoff(.codeUnknown)
    case .used: return .handoff(.codeUsed)
    case .expired: return .handoff(.codeExpired)
    case .withdrawn: return .handoff(.withdrawn)
    }
}

/// Decides a redemption from the request checks and the facts of the registry. Pure.
package func decide(
    _ asked: HandoffRedemption, _ facts: RedemptionFacts
) throws(HandoffError) -> GrantFacts {
    if let refusal = refusal(asked, facts) {
        guard facts.web.grant == nil else {
            throw .broken("a grant was recorded for a refused hand-off: \(refusal)")
        }
        throw .refused(refusal)
    }
    guard let grant = facts.web.grant else { throw .broken("no grant was recorded for a hand-off that breaks no rule") }
    return grant
}

extension Client {
    /// Whether it can redeem codes of hand-offs.
    package var redeemsHandoffs: Bool { isEnabled && authentication != .none && grants.contains(.tokenExchange) }
}

extension KeptHandoff {
    /// The challenge that the verifier of a request fits. Throws the first reason why the request is not the one that
    /// the code was made for.
    func challenge(shownBy request: RedemptionRequest) throws(HandoffRefusal) -> HandoffChallenge {
        guard client == request.client.id else { throw .otherClient }
        guard origin == request.origin else { throw .otherOrigin }
        guard let shown = HandoffChallenge(of: request.verifier), shown.matches(challenge) else {
            throw .wrongVerifier
        }
        // `scope` is the one that the app named, else the default scope of the web app.
        guard let named = request.scope, !named.isSubset(of: scope) else { return shown }
        throw .scopeExceedsHandoff
    }
}

/// Why a hand-off or its redemption is refused.
package enum HandoffFailure: Error, Sendable, Hashable {
    /// By a rule of hand-offs.
    case handoff(HandoffRefusal)
    /// An operator has suspended the identity provider since the code was made.
    case providerSuspended
    /// By a rule of the exchange, which judged this client: the app or the web app.
    case exchange(ExchangeRefusal, by: Client)
}

/// Why a rule of hand-offs refuses. `BrokerHTTP` has the table: reason, answer, cause and remedy of each case.
package enum HandoffRefusal: Error, Sendable, CaseIterable {
    // The request of the app. State and relationship: one answer for all of them.
    /// The app's membership does not allow it to hand logins off.
    case notAllowed
    /// The app shows a DPoP key, and its membership allows hand-offs without one only.
    case boundApp
    /// `handoff_client` is no registered, enabled and confidential client that may exchange.
    case webAppUnusable
    case webAppOutsideGroup
    /// The web app does not receive logins at `handoff_origin`.
    case originNotRegistered

    // The redemption. One answer for all of them.
    /// The broker did not make the code, or has deleted it.
    case codeUnknown
    case codeExpired
    case codeUsed
    /// The code is for another web app.
    case otherClient
    case otherOrigin
    /// The verifier does not fit the challenge: another browser began the hand-off.
    case wrongVerifier
    /// What allowed the hand-off when it was made no longer does.
    case withdrawn

    // Scope: RFC 6749 §3.3.
    /// Beyond what the app asked for.
    case scopeExceedsHandoff
}

package typealias HandoffError = GrantError<HandoffFailure>
