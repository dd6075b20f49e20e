/// A refresh for the registry.
package struct Rotation: Sendable {
    package let request: RefreshRequest
    /// The presented token; its tag is valid.
    package let token: RefreshToken
    package let lifetimes: Lifetimes
    /// The requested scope; `nil`: the whole scope of the grant.
    package let scope: Scope?

    package init(_ request: RefreshRequest, _ token: RefreshToken, _ lifetimes: Lifetimes) {
        self.request = request
        self.token = token
        self.lifetimes = lifetimes
        scope = request.scope?.withoutLogin
    }

    /// The time in which the previous token returns the same successor, if no key binds the token family.
    /// RFC 9449 §5: a confidential client's refresh token is bound by the client's authentication.
    package var grace: Seconds {
        request.client.authentication == .none ? lifetimes.unboundRefreshGrace : lifetimes.refreshGrace
    }

    /// Whether a bound token family continues with a proof by any key, not only by its own: the client's own authentication
    /// binds the token family. RFC 9449 §5.
    package var mayChangeKey: Bool { request.client.proofPolicy != .off && request.client.authentication != .none }
}

/// The facts that the registry read, and its effect.
package struct RotationFacts: Sendable {
    package enum Effect: String, Sendable, CaseIterable {
        /// Nothing was written.
        case none
        /// Nothing was written. The token came after its grace period, which a gap of service has extended.
        case extended
        /// Nothing was written. The token came after its grace period, perhaps because of a gap of service that goes on.
        case unsure
        /// The family has a new generation.
        case advanced
        /// The grant was revoked, because the token shows that another party holds a copy.
        case revoked
    }

    package let now: UnixTime
    package let effect: Effect
    /// Whether the proof was presented before, here or at another replica. Then nothing was written.
    package let proofWasUsed: Bool
    /// The same for the client's assertion.
    package let assertionWasUsed: Bool
    /// `nil`: no grant has this id.
    package let grant: FamilyFacts?

    package init(
        now: UnixTime, effect: Effect, proofWasUsed: Bool = false, assertionWasUsed: Bool = false, grant: FamilyFacts?
    ) {
        self.now = now
        self.effect = effect
        self.proofWasUsed = proofWasUsed
        self.assertionWasUsed = assertionWasUsed
        self.grant = grant
    }
}

/// A token family as it was when the token was presented, with every fact that the decision needs.
package struct FamilyFacts: Sendable {
    package let client: ClientID
    /// The value before this call.
    package let generation: Int32
    /// The last generation that an exchange issued. It restarted the family; refreshes made all later ones.
    package let exchangedGeneration: Int32
    /// The generation of the exchange that bound the family: earlier tokens have no key. Valid only if ``key`` is set.
    package let keylessBefore: Int32
    /// Whether the presented one is from before the last exchange, and what a refresh made of it was itself presented.
    package let wasSpent: Bool
    package let rotatedAt: UnixTime
    /// The value before this call.
    package let revokedAt: UnixTime?
    /// Whether that was since its last refreshed token came late, and nothing has shown two holders so far.
    package let cameLate: Bool
    package let expiresAt: UnixTime
    package let scope: Scope
    package let audiences: [String]
    /// The identity provider of the login.
    package let provider: Issuer
    package let session: SessionFacts
    package let login: Login
    /// What the last exchange copied of its id_token.
    package let claims: CopiedClaims
    package let clientIsEnabled: Bool
    /// Whether the target client may still use logins of the source client.
    package let sharesLogin: Bool
    /// The current scope ceiling of the app's membership; `nil`: no limit.
    package let scopeCeiling: Scope?
    package let deviceIsBlocked: Bool
    /// The key that the last exchange bound the family to.
    package let key: KeyThumbprint?

    package init(
        client: ClientID, generation: Int32, exchangedGeneration: Int32, keylessBefore: Int32 = 1,
        wasSpent: Bool = false,
        rotatedAt: UnixTime,
        revokedAt: UnixTime?, cameLate: Bool = false, expiresAt: UnixTime, scope: Scope, audiences: [String],
        provider: Issuer, session: SessionFacts, login: Login, claims: CopiedClaims = CopiedClaims(),
        clientIsEnabled: Bool, sharesLogin: Bool, scopeCeiling: Scope?,
        deviceIsBlocked: Bool,
        key: KeyThumbprint? = nil
    ) {
        self.client = client
        self.generation = generation
        self.exchangedGeneration = exchangedGeneration
        self.keylessBefore = keylessBefore
        self.wasSpent = wasSpent
        self.rotatedAt = rotatedAt
        self.revokedAt = revokedAt
        self.cameLate = cameLate
        self.expiresAt = expiresAt
        self.scope = scope
        self.audiences = audiences
        self.provider = provider
        self.session = session
        self.login = login
        self.claims = claims
        self.clientIsEnabled = clientIsEnabled
        self.sharesLogin = sharesLogin
        self.scopeCeiling = scopeCeiling
        self.deviceIsBlocked = deviceIsBlocked
        self.key = key
    }
}
