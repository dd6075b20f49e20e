/// The codes by which apps hand a login to a web app: implemented by `Registry` on PostgreSQL.
///
/// Each call decides and writes in one statement, and returns the facts. The rules are those of the exchange, for the app
/// and for the web app, and ``refusal(_:_:)``.
package protocol HandoffRegistry: Sendable {
    /// Keeps a code if every guard holds. Neither the app nor the web app gets a grant.
    func make(_ entry: HandoffEntry) async throws(PortError) -> HandoffFacts

    /// What a code stands for; `nil`: there is no such code, or the sweep has deleted it.
    func handoff(_ code: HandoffDigest) async throws(PortError) -> KeptHandoff?

    /// Records the exchange of the web app and uses the code up, if every guard holds. Of two calls with one code at most
    /// one gets a grant. A refusal does not use the code up.
    func redeem(_ redemption: HandoffRedemption) async throws(PortError) -> RedemptionFacts
}

/// A hand-off for the registry.
package struct HandoffEntry: Sendable {
    /// The exchange of the app that asks. It is only judged.
    package let app: Admission
    /// The exchange that the web app would make with the same login. It is only judged.
    package let web: Admission
    /// The keyed hash of the code.
    package let code: HandoffDigest
    /// The challenge of the browser that the web app began with.
    package let challenge: HandoffChallenge
    /// The origin to which the app sends the browser.
    package let origin: WebOrigin

    package init(
        app: Admission, web: Admission, code: HandoffDigest, challenge: HandoffChallenge, origin: WebOrigin
    ) {
        self.app = app
        self.web = web
        self.code = code
        self.challenge = challenge
        self.origin = origin
    }

    /// Whether the app showed a DPoP key.
    package var appIsBound: Bool { app.request.proof != nil }
}

/// The facts that the registry read, and whether it kept the code.
package struct HandoffFacts: Sendable {
    /// Of the exchange of the app. It has no grant.
    package let app: AdmissionFacts
    /// Of the exchange of the web app. It has no grant.
    package let web: AdmissionFacts
    /// What the app's membership allows; `nil`: nothing.
    package let permission: Membership.Handoff?
    /// Whether the web app's membership names the origin.
    package let takesOrigin: Bool
    /// Whether the registry wrote the code.
    package let isKept: Bool

    package init(
        app: AdmissionFacts, web: AdmissionFacts, permission: Membership.Handoff?, takesOrigin: Bool, isKept: Bool
    ) {
        self.app = app
        self.web = web
        self.permission = permission
        self.takesOrigin = takesOrigin
        self.isKept = isKept
    }
}

/// What the registry keeps for a code: the binding, and what the exchange of the web app is judged by.
package struct KeptHandoff: Sendable {
    /// What the verifier must hash to.
    package let challenge: HandoffChallenge
    /// The origin to which the app sent the browser.
    package let origin: WebOrigin
    /// The web app, which alone may redeem the code.
    package let client: ClientID
    /// The issuer that the app's request named.
    package let audience: Issuer
    /// The claims of the id_token, as far as a rule reads them. They have no `sid`.
    package let idToken: IDTokenClaims
    /// SHA-256 of the `sid` of the id_token.
    package let sid: [UInt8]
    /// Of the device value that the app showed.
    package let device: DeviceDigest
    /// The profile of the app's request.
    package let profile: Profile
    /// The largest scope of the redemption.
    package let scope: Scope

    package init(
        challenge: HandoffChallenge, origin: WebOrigin, client: ClientID, audience: Issuer, idToken: IDTokenClaims,
        sid: [UInt8], device: DeviceDigest, profile: Profile, scope: Scope
    ) {
        self.challenge = challenge
        self.origin = origin
        self.client = client
        self.audience = audience
        self.idToken = idToken
        self.sid = sid
        self.device = device
        self.profile = profile
        self.scope = scope
    }
}

/// A redemption for the registry.
package struct HandoffRedemption: Sendable {
    /// The keyed hash of the presented code.
    package let code: HandoffDigest
    /// SHA-256 of the presented verifier.
    package let challenge: HandoffChallenge
    /// The origin that the web app names.
    package let origin: WebOrigin
    /// The exchange of the web app.
    package let web: Admission

    package init(code: HandoffDigest, challenge: HandoffChallenge, origin: WebOrigin, web: Admission) {
        self.code = code
        self.challenge = challenge
        self.origin = origin
        self.web = web
    }
}

/// The facts that the registry read, and the grant that it recorded.
package struct RedemptionFacts: Sendable {
    /// How a code stands. The raw value is that of the SQL function.
    package enum Standing: String, Sendable {
        case good
        /// No code has this binding.
        case unknown
        case used
        case expired
        /// The app is disabled, or the memberships no longer allow the hand-off.
        case withdrawn
    }

    /// How the code stands.
    package let standing: Standing
    /// Of the exchange of the web app, with its grant.
    package let web: AdmissionFacts

    package init(standing: Standing, web: AdmissionFacts) {
        self.standing = standing
        self.web = web
    }
}
