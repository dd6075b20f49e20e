/// Whether one app may use a login of another, as far as the registry decides it. It applies the rules of an exchange to a
/// valid request: to one with a fresh login, or to the state of a login that the registry holds.
///
/// It does not predict what the app will show: its id_token, device value and key.
package struct LoginSharing: Sendable {
    /// What the registry holds of a login.
    package struct Login: Sendable {
        package var session: SessionFacts
        /// How the user logged in.
        package var login: NativeSSO.Login
        /// `iat` of the id_token that began it.
        package var issuedAt: UnixTime
        package var deviceIsBlocked: Bool
        package var accountIsDisabled: Bool
        /// Whether reuse detection fired for the target client after this login.
        package var needsLaterLogin: Bool

        package init(
            session: SessionFacts, login: NativeSSO.Login, issuedAt: UnixTime, deviceIsBlocked: Bool = false,
            accountIsDisabled: Bool = false, needsLaterLogin: Bool = false
        ) {
            self.session = session
            self.login = login
            self.issuedAt = issuedAt
            self.deviceIsBlocked = deviceIsBlocked
            self.accountIsDisabled = accountIsDisabled
            self.needsLaterLogin = needsLaterLogin
        }
    }

    /// Every rule that refuses, in the order of the rules.
    package let refusals: [ExchangeRefusal]
    /// What an exchange would grant.
    package let scope: Scope
    /// The first rule that refuses a hand-off: the source client hands the login to the target client, a web app. `nil`: it
    /// may, at each origin of the web app.
    package let handoffRefusal: HandoffFailure?

    /// - Parameters:
    ///   - source: The app that logged in, and its place at this issuer.
    ///   - target: The app that would use the login, and its place.
    ///   - login: `nil`: a fresh one that the target client accepts.
    ///   - scope: What the app would ask for; `nil`: nothing, so that it gets its default.
    package init(
        of source: (client: Client, membership: Membership?), with target: (client: Client, membership: Membership?),
        at issuer: IssuerPolicy, profile: Profile, login: Login? = nil, idleLimit: Seconds = 1, scope: Scope?,
        scopesRequiringConsent: Scope, now: UnixTime
    ) {
        var state = State(
            sourceClient: source.client.id, source: source.membership, client: target.client, target: target.membership,
            login: login, scope: scope, consent: scopesRequiringConsent, issuer: issuer, profile: profile,
            idleLimit: idleLimit, now: now)
        self.scope = state.asked.checks.scope
        handoffRefusal = state.handoffRefusal(by: source.client)
        // A decision names one rule. The next decision, with that rule out of the way, names the next rule.
        var refusals: [ExchangeRefusal] = []
        while let refusal = state.refusal, !refusals.contains(refusal) {
            refusals.append(refusal)
            state.overcome(refusal)
        }
        // The event that disabled the account ended its sessions. The broker begins no other one.
        if login?.accountIsDisabled == true, !refusals.contains(.accountDisabled) { refusals.append(.accountDisabled) }
        self.refusals = refusals
    }
}

/// What the rules look at.
private struct State {
    let sourceClient: ClientID
    var source: Membership?
    var client: Client
    var target: Membership?
    var login: LoginSharing.Login?
    var scope: Scope?
    /// `false`: the client hands the login off and gets no tokens.
    var needsScope = true
    var proof: PresentedProof?
    var consent: Scope
    let issuer: IssuerPolicy
    let profile: Profile
    let idleLimit: Seconds
    let now: UnixTime

    private static let anyID = UniqueID(high: 0, low: 0)
    private static let anySubject = Subject(validated: "any")

    var asked: Admission {
        let sessionID = SessionID(validated: "any")
        let request = ExchangeRequest(
            assuming: profile, requestID: Self.anyID, client: client, issuer: issuer, scope: scope, proof: proof)
        let idToken = IDTokenClaims(
            issuer: issuer.issuer, subject: login?.session.subject ?? Self.anySubject, sessionID: sessionID,
            sourceClient: sourceClient, audience: [sourceClient], issuedAt: login?.issuedAt ?? now,
            expiresAt: now.adding(1),
            login: login?.login
                ?? Login(authenticatedAt: now, contextClass: client.acceptedContextClasses.first),
            hashFunction: .sha256)
        let checks = ExchangeChecks(
            of: request, idToken, fitsDevice: true, needsScope: needsScope, scopesRequiringConsent: consent,
            idleLimit: idleLimit, at: now)
        return Admission(
            request: request, idToken: idToken, sid: sessionID.digest, checks: checks,
            device: DeviceDigest(validated: [UInt8](repeating: 0, count: 32)),
            proposedGrantID: Self.anyID, proposedSessionRowID: Self.anyID)
    }

    var refusal: ExchangeRefusal? { NativeSSO.refusal(asked, facts) }

    private var facts: AdmissionFacts {
        let session = login?.session ?? liveSession(of: Self.anySubject)
        return AdmissionFacts(
            now: now, clientIsEnabled: client.isEnabled, source: source, target: target, otherAudienceInGroup: true,
            session: session, deviceIsBlocked: login?.deviceIsBlocked ?? false,
            needsLaterLogin: login?.needsLaterLogin ?? false, accountIsDisabled: login?.accountIsDisabled ?? false,
            grant: nil)
    }

    /// - Parameter app: The source client.
    func handoffRefusal(by app: Client) -> HandoffFailure? {
        guard client.redeemsHandoffs else { return .handoff(.webAppUnusable) }
        var own = self
        (own.client, own.target, own.needsScope) = (app, source, false)
        own.client.allowsSelfExchange = true
        own.login?.needsLaterLogin = false  // of the target client
        if app.proofPolicy == .required {
            let key = KeyThumbprint(validated: "any")
            own.proof = PresentedProof(key: key, id: ProofID(key: key, jti: "any"), life: 1)
        }
        let origin = target?.handoffOrigins.first
        let entry = HandoffEntry(
            app: own.asked, web: asked, code: HandoffDigest(octets: []), challenge: HandoffChallenge(digest: []),
            origin: origin ?? WebOrigin(validated: "https://any.example"))
        let facts = HandoffFacts(
            app: own.facts, web: facts, permission: source?.handoff, takesOrigin: origin != nil, isKept: false)
        return NativeSSO.refusal(entry, facts)
    }

    private func liveSession(of subject: Subject) -> SessionFacts {
        SessionFacts(id: Self.anyID, subject: subject, endedAt: nil, expiresAt: now.adding(1), lastUsedAt: now)
    }

    /// Changes what the rule looks at, so that it refuses no more.
    mutating func overcome(_ refusal: ExchangeRefusal) {
        let group = target?.group ?? source?.group ?? GroupID(validated: "any")
        switch refusal {
        case .clientDisabled: client.isEnabled = true
        case .clientNotInGroup: target = Membership(group: group, role: .both)
        case .sourceNotInGroup: source = Membership(group: group, role: .both)
        case .otherGroup: source = source.map { Membership(group: group, role: $0.role) }
        case .directionForbidden:
            source = Membership(group: group, role: .both)
            target = Membership(group: group, role: .both, scopeCeiling: target?.scopeCeiling)
        case .selfExchange: client.allowsSelfExchange = true
        case .sessionEnded, .sessionExpired, .sessionIdle, .subjectTokenBeforeEnd, .subjectMismatch, .sessionUnknown:
            let session = liveSession(of: login?.session.subject ?? Self.anySubject)
            login?.session = session
        case .subjectTokenTooOld, .subjectTokenExpired: login?.issuedAt = now
        case .accountDisabled: login?.accountIsDisabled = false
        case .deviceBlocked: login?.deviceIsBlocked = false
        case .scopeLacksOpenID, .scopeEmpty, .scopeExceedsClient:
            scope = nil
            client.defaultScope = Scope(["openid"])
            client.allowedScope = Scope(["openid"])
        case .scopeExceedsMember: target = target.map { Membership(group: $0.group, role: $0.role) }
        case .consentRequired: consent = .empty
        case .assuranceInsufficient:
            client.acceptedContextClasses = []
            client.maximumAuthenticationAge = nil
        case .loginAfterReplay: login?.needsLaterLogin = false
        // What the app shows; here it shows what is right.
        case .mayActOther, .assertionReplayed, .proofReplayed, .deviceHashMismatch, .audienceOutsideGroup,
            .firstSightKeyNotCurrent, .firstSightTokenTooOld, .firstSightTokenExpired, .pinConflict:
            break
        }
    }
}
