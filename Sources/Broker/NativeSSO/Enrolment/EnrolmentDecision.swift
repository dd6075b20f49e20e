import Crypto

/// Decides an enrolment from the request checks and the facts of the registry. Pure.
///
/// The registry's statement guards the write by the same rules. If the two disagree, the answer is a defect of the
/// broker, never a token.
package func decide(_ asked: EnrolmentEntry, _ facts: EnrolmentFacts) throws(EnrolmentError) -> EnrolledSession {
    if let refusal = refusal(asked, facts) {
        guard facts.session == nil else { throw .broken("a session was recorded for a refused enrolment: \(refusal)") }
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

/// Only an app whose logins others may use can enrol.
private func clientRefusal(_ facts: EnrolmentFacts) -> EnrolmentRefusal? {
    guard facts.clientIsEnabled else { return .clientDisabled }
    guard let membership = facts.membership else { return .clientNotInGroup }
    return membership.isSource ? nil : .directionForbidden
}

private func stateRefusal(_ asked: EnrolmentEntry, _ facts: EnrolmentFacts) -> EnrolmentRefusal? {
    if facts.accountIsDisabled { return .accountDisabled }
    if facts.loginHasEnded { return .loginEnded }
    if facts.deviceIsBlocked { return .deviceBlocked }
    if asked.request.client.isKnownByKey, let bound = facts.boundKey, bound != asked.request.proof?.key {
        return .pinConflict
    }
    return facts.tokenIsUsed ? .tokenUsed : nil
}

/// The request checks of an enrolment: what the request, the id_token and the client's registration decide alone.
package struct EnrolmentChecks: Sendable {
    /// First reason against the id_token or its binding.
    let binding: EnrolmentRefusal?
    /// First reason against the scope. It is checked last.
    let scopeRefusal: EnrolmentRefusal?

    /// `false`: the registry reads but records nothing, so that this refusal takes as long as any other.
    package var isPermitted: Bool { binding == nil && scopeRefusal == nil }

    /// The longest time between a login and its enrolment. An app enrols at once; a thief who finds the token later is
    /// too late.
    package static let maximumAge: Seconds = .minutes(5)

    package init(of request: EnrolmentRequest, _ idToken: IDTokenClaims, at now: UnixTime) {
        binding =
            if idToken.sourceClient != request.client.id || idToken.audience.count != 1 {
                .otherClient
            } else if idToken.expiresAt <= now {
                .expired
            } else if now.since(idToken.issuedAt) > Self.maximumAge {
                .stale
            } else if request.manner == .exchange, !idToken.isBound(to: request.device, mode: request.issuer.hashMode) {
                .deviceHashMismatch
            } else {
                nil
            }
        scopeRefusal = Self.scopeRefusal(request)
    }

    /// The scopes of a login do not belong to a client's registration.
    private static func scopeRefusal(_ request: EnrolmentRequest) -> EnrolmentRefusal? {
        let named = request.scope ?? .empty
        if request.device == nil {
            guard named.contains(Scope.deviceSSO) else { return .scopeLacksDeviceSSO }
            guard named.contains("openid") else { return .scopeLacksOpenID }
        }
        return named.exceeds(request.client) ? .scopeExceedsClient : nil
    }
}

extension Scope {
    /// Whether it names more than the client may have, besides the scopes of a login.
    func exceeds(_ client: Client) -> Bool { withoutLogin.map { !$0.isSubset(of: client.allowedScope) } ?? false }
}

package enum EnrolmentRefusal: Error, Sendable, CaseIterable {
    /// The client's assertion was used before, at any replica. RFC 7523 §3, 7.
    case assertionReplayed
    /// The DPoP proof was used before, at any replica. RFC 9449 §11.1.
    case proofReplayed

    // State, binding, relationship. One answer for all of them.
    /// Issued to another app, or to several.
    case otherClient
    case expired
    /// Issued too long ago to be the login that just happened.
    case stale
    /// The identity provider bound the token to another device value than the request's.
    case deviceHashMismatch
    case clientDisabled
    case clientNotInGroup
    case directionForbidden
    /// The identity provider has disabled the user's account. RISC 1.0 §2.3.
    case accountDisabled
    case loginEnded
    case deviceBlocked
    /// The app is bound to another key on this device.
    case pinConflict
    /// Used before, with another device value or for a session that is over.
    case tokenUsed

    // Scope: RFC 6749 §3.3, Native SSO §3.1.
    case scopeLacksOpenID
    case scopeLacksDeviceSSO
    case scopeExceedsClient
}

package typealias EnrolmentError = GrantError<EnrolmentRefusal>

/// Identifies an id_token by its signed part: SHA-256 of header and payload as received.
///
/// The signature is left out, because anyone who holds an ECDSA signature can compute a second valid one. The token
/// would then look like another token.
package struct EnrolledTokenDigest: Hashable, Sendable {
    /// 32 octets.
    package let octets: [UInt8]

    package init(of token: SubjectToken) {
        let end = token.octets.lastIndex(of: UInt8(ascii: ".")) ?? token.octets.endIndex
        octets = Array(SHA256.hash(data: token.octets[..<end]))
    }
}
