import BrokerTesting
package import NativeSSO

extension ExchangeScenario {
    /// The step of the contract that refuses: of two defects the one of the earlier step is the reason.
    package static func step(of refusal: ExchangeRefusal) -> Int {
        switch refusal {
        case .mayActOther: 3
        case .assertionReplayed: 4
        case .proofReplayed: 5
        case .subjectTokenTooOld: 6
        case .subjectTokenExpired: 7
        case .deviceHashMismatch: 8
        case .clientDisabled: 9
        case .clientNotInGroup, .sourceNotInGroup, .otherGroup, .directionForbidden, .audienceOutsideGroup,
            .selfExchange:
            10
        case .sessionUnknown, .firstSightKeyNotCurrent, .firstSightTokenTooOld, .firstSightTokenExpired,
            .subjectMismatch, .subjectTokenBeforeEnd, .sessionEnded, .sessionExpired, .sessionIdle, .accountDisabled:
            11
        case .deviceBlocked: 12
        case .pinConflict: 13
        case .scopeLacksOpenID, .scopeEmpty, .scopeExceedsClient: 14
        case .scopeExceedsMember: 15
        case .consentRequired: 16
        case .assuranceInsufficient: 17
        case .loginAfterReplay: 18
        }
    }

    /// Changes the scenario so that it deserves `refusal`. Changes for two different steps do not get in each other's way.
    package mutating func spoil(for refusal: ExchangeRefusal) {
        switch refusal {
        case .mayActOther: mayAct = ClientID(validated: "another-app")
        case .subjectTokenTooOld: issuedAt = now.before(policy.maximumSubjectTokenAge).before(1)
        case .subjectTokenExpired:
            expiresAt = now
            policy = IssuerPolicy(issuer: issuer, profiles: policy.profiles, requiresUnexpiredIDToken: true)
        case .deviceHashMismatch: deviceHash = "AAAAAAAAAAAAAAAAAAAAAA"
        case .clientDisabled: clientIsEnabled = false
        case .clientNotInGroup: targetMember = nil
        case .sourceNotInGroup: sourceMember = nil
        case .otherGroup:
            targetMember = Membership(
                group: GroupID(validated: "other-\(group)"), role: .both, scopeCeiling: targetMember?.scopeCeiling)
        case .directionForbidden: sourceMember = Membership(group: group, role: .target)
        case .audienceOutsideGroup: otherAudience = [ClientID(validated: "stranger-\(group)")]
        case .selfExchange: source = target
        case .sessionUnknown: session = nil
        case .firstSightKeyNotCurrent:
            admitOnFirstSight()
            isKeyCurrent = false
        case .firstSightTokenTooOld:
            admitOnFirstSight()
            issuedAt = now.before(policy.maximumFirstSightAge).before(1)
        case .firstSightTokenExpired:
            admitOnFirstSight(requiringUnexpired: true)
            expiresAt = now
        case .subjectMismatch: session?.subject = Subject(validated: "somebody-else")
        case .subjectTokenBeforeEnd: session?.iatAfter = issuedAt
        case .sessionEnded: session?.isEnded = true
        case .sessionExpired: session?.expiresIn = 0
        case .sessionIdle: session?.lastUsed = lifetimes.sessionIdle
        case .accountDisabled:
            admitOnFirstSight()
            accountIsDisabled = true
        case .deviceBlocked: deviceIsBlocked = true
        case .assertionReplayed:
            let used = assertion ?? .random()
            assertion = used
            usedAssertion = used.id
        case .proofReplayed:
            let used = proof ?? .random()
            proof = used
            usedProof = used.id
        case .pinConflict:
            client.proofPolicy = .optional
            pinnedKey = .random()
        case .scopeLacksOpenID: scope = Scope(["profile"])
        case .scopeEmpty: client.defaultScope = .empty
        case .scopeExceedsClient: scope = Scope(["openid", "admin"])
        case .scopeExceedsMember:
            guard let member = targetMember else { return }
            targetMember = Membership(
                group: member.group, role: member.role, scopeCeiling: Scope(["openid", "profile"]))
        case .loginAfterReplay: wasReplayed = true
        case .consentRequired: scopesRequiringConsent = Scope(["orders.read"])
        case .assuranceInsufficient: client.acceptedContextClasses = ["urn:example:loa3"]
        }
    }

    /// The registry does not know the session, and the issuer's policy lets an exchange bring it in.
    private mutating func admitOnFirstSight(requiringUnexpired: Bool = false) {
        session = nil
        policy = IssuerPolicy(
            issuer: issuer, profiles: policy.profiles, admitsOnFirstSight: true,
            firstSightRequiresUnexpired: requiringUnexpired)
    }
}
