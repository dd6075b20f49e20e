import StrictCoding

/// The request checks of an exchange: what the request, the id_token and the client's registration decide alone.
///
/// A request that fails here still goes to the registry (which then writes nothing), so that a wrong device, an
/// unknown session and a foreign group cost the caller the same time.
package struct ExchangeChecks: Sendable {
    /// First reason against the subject token or its binding: steps before the sharing group.
    let binding: ExchangeRefusal?
    /// Whether the device value is the one that the subject token names. Independent of all other checks.
    let fitsDevice: Bool
    /// First reason against the scope: after the device, before the member's ceiling.
    let scopeRefusal: ExchangeRefusal?
    /// What the user must do first. It comes last, so that no user logs in for a request that is refused anyway.
    let interaction: ExchangeRefusal?
    /// What a grant would hold.
    package let scope: Scope
    /// The claims of the id_token that a grant would hold, by the client's list.
    package let claims: CopiedClaims
    /// Names of that list whose claims did not fit.
    let claimsLeftOut: [String]
    /// Why a session unknown to the registry may not begin with this exchange; `nil`: it may.
    let firstSightRefusal: ExchangeRefusal?
    /// Longest time between two uses of the session.
    package let idleLimit: Seconds
    /// From now to the end of a grant; `nil`: that of its session.
    package let grantLifetime: Seconds?

    /// `false`: the registry reads but writes nothing, so that this refusal takes as long as any other.
    package var isPermitted: Bool { binding == nil && scopeRefusal == nil && interaction == nil }

    /// - Parameters:
    ///   - fitsDevice: Whether the device value is the one that the id_token names.
    ///   - needsScope: `false`: the request asks for no scope, because the client gets no tokens.
    package init(
        of request: ExchangeRequest, _ idToken: IDTokenClaims, fitsDevice: Bool, needsScope: Bool = true,
        scopesRequiringConsent: Scope, idleLimit: Seconds, at now: UnixTime
    ) {
        let issuer = request.issuer
        let isExpired = idToken.expiresAt <= now
        let maximumAge = issuer.maximumAgeByProvider[idToken.issuer] ?? issuer.maximumSubjectTokenAge
        let requiresUnexpired =
            issuer.requiresUnexpiredIDToken || issuer.providersRequiringUnexpired.contains(idToken.issuer)
        self.fitsDevice = fitsDevice
        binding =
            if now.since(idToken.issuedAt) > maximumAge {
                .subjectTokenTooOld
            } else if isExpired && requiresUnexpired {
                .subjectTokenExpired
            } else if !fitsDevice {
                .deviceHashMismatch
            } else {
                nil
            }

        (scope, scopeRefusal) = needsScope ? request.demand : (.empty, nil)
        (claims, claimsLeftOut) = CopiedClaims.copy(request.client.copiedClaims, of: idToken.claims)
        interaction =
            if !scope.isDisjoint(with: scopesRequiringConsent) {
                .consentRequired
            } else if !request.client.isSatisfied(by: idToken.login, at: now) {
                .assuranceInsufficient
            } else {
                nil
            }

        // An expired id_token may begin a session: Native SSO §6.3. An old one may name a session that ended long ago. A
        // key may have left the key set because it was stolen: the thief can sign any `iat`.
        firstSightRefusal =
            if !issuer.admitsOnFirstSight {
                .sessionUnknown
            } else if !idToken.isKeyCurrent {
                .firstSightKeyNotCurrent
            } else if now.since(idToken.issuedAt) > issuer.maximumFirstSightAge {
                .firstSightTokenTooOld
            } else if isExpired && issuer.firstSightRequiresUnexpired {
                .firstSightTokenExpired
            } else {
                nil
            }
        self.idleLimit = idleLimit
        grantLifetime = request.client.grantLifetime(from: idToken.login, at: now)
    }
}

extension Client {
    /// Whether a login is as strong and as recent as this client asks. An exchange never makes it stronger or newer.
    func isSatisfied(by login: Login, at now: UnixTime) -> Bool {
        if !acceptedContextClasses.isEmpty {
            guard let contextClass = login.contextClass,
                acceptedContextClasses.contains(where: contextClass.hasSameOctets)
            else { return false }
        }
        if let maximumAuthenticationAge {
            guard let authenticatedAt = login.authenticatedAt,
                now.since(authenticatedAt) <= maximumAuthenticationAge
            else { return false }
        }
        return true
    }

    /// How long a grant from `login` may live. Its refreshes end when an exchange would be refused, so that no grant
    /// outlives the maximum login age of this client.
    func grantLifetime(from login: Login, at now: UnixTime) -> Seconds? {
        guard let maximumAuthenticationAge, let authenticatedAt = login.authenticatedAt else {
            return refreshTokenLifetime
        }
        // The grant includes the last second in which the login is young enough.
        let rest = max(1, authenticatedAt.adding(maximumAuthenticationAge).adding(1).since(now))
        return min(rest, refreshTokenLifetime ?? rest)
    }
}

/// An exchange with a valid form and a known client; it prints as `****`.
package final class ExchangeRequest: Sendable, Redacted {
    package let requestID: UniqueID
    /// The app that asks, as authenticated.
    package let client: Client
    /// The issuer that `audience` named.
    package let issuer: IssuerPolicy
    package let subjectToken: SubjectToken
    package let device: DeviceValue
    /// `nil` if the request named no scope.
    package let scope: Scope?
    /// The one audience of the client that the access token is for; `nil`: all of them. RFC 8707 §2.
    let resource: String?
    /// `nil` if the app sent no proof, or the client's policy ignores proofs.
    package let proof: PresentedProof?
    /// `nil` if the client authenticated in another way, or not at all.
    package let assertion: PresentedAssertion?
    /// For the audit; `nil`: none is known.
    package let trace: UniqueID?

    package init(
        requestID: UniqueID, client: Client, issuer: IssuerPolicy, subjectToken: SubjectToken, device: DeviceValue,
        scope: Scope?, resource: String? = nil, proof: PresentedProof? = nil, assertion: PresentedAssertion? = nil,
        trace: UniqueID? = nil
    ) {
        self.requestID = requestID
        self.client = client
        self.issuer = issuer
        self.subjectToken = subjectToken
        self.device = device
        self.scope = scope
        self.resource = resource
        self.proof = proof
        self.assertion = assertion
        self.trace = trace
    }

    /// An exchange whose id_token and device value are not at hand: an earlier request proved them, or they are assumed.
    package convenience init(
        assuming profile: Profile, requestID: UniqueID, client: Client, issuer: IssuerPolicy, scope: Scope?,
        resource: String? = nil, proof: PresentedProof? = nil, assertion: PresentedAssertion? = nil,
        trace: UniqueID? = nil
    ) {
        self.init(
            requestID: requestID, client: client, issuer: issuer, subjectToken: SubjectToken(""),
            device: DeviceValue(octets: [], profile: profile), scope: scope, resource: resource, proof: proof,
            assertion: assertion, trace: trace)
    }

    package var profile: Profile { device.profile }

    /// Whether the device value is the one that the id_token names.
    package func fitsDevice(of idToken: IDTokenClaims, hash: String) -> Bool {
        device.matches(claim: hash, function: idToken.hashFunction, mode: issuer.hashMode)
    }
}
