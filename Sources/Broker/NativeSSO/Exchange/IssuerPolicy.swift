import StrictCoding

/// The operator's configuration of one identity provider for exchanges and enrolments.
package struct IssuerPolicy: Sendable, Hashable {
    package let issuer: Issuer
    /// Other values of `audience` that mean this issuer, such as `api://default`.
    package let audienceAliases: [String]
    package let profiles: Set<Profile>
    /// How the issuer computes `ds_hash`.
    package let hashMode: DeviceHashMode
    /// Whether the 2018 profile may write `id-token` for `id_token` in `subject_token_type`, as the slides do.
    package let acceptsHyphenatedIDTokenType: Bool
    /// Whether the first exchange brings the session of its id_token into the registry.
    package let admitsOnFirstSight: Bool
    /// Longest time since `iat` of an id_token that brings its session in.
    package let maximumFirstSightAge: Seconds
    /// Whether an expired id_token brings no session in.
    package let firstSightRequiresUnexpired: Bool
    /// Whether an expired id_token is refused, which Native SSO §6.3 does not ask for.
    package let requiresUnexpiredIDToken: Bool
    /// Longest time since `iat`.
    package let maximumSubjectTokenAge: Seconds
    /// The same for id_tokens that this broker signed, by the IdP of the login, for IdPs with their own limit.
    package let maximumAgeByProvider: [Issuer: Seconds]
    /// The identity providers for which an expired id_token signed by this broker is refused as well.
    package let providersRequiringUnexpired: Set<Issuer>
    /// Life of a session that begins at first sight or by enrolment.
    package let sessionLifetime: Seconds
    /// Whether an app may enrol its login by a fresh id_token.
    package let enrolsByExchange: Bool
    /// How the broker redeems codes of apps; `nil`: it redeems none.
    package let codeRelay: CodeRelayPolicy?
    /// Whether every request that names this issuer is refused.
    package let isDisabled: Bool

    package init(
        issuer: Issuer, audienceAliases: [String] = [], profiles: Set<Profile>, hashMode: DeviceHashMode = .leftHalf,
        acceptsHyphenatedIDTokenType: Bool = false, admitsOnFirstSight: Bool = false,
        maximumFirstSightAge: Seconds = .hours(24), firstSightRequiresUnexpired: Bool = false,
        requiresUnexpiredIDToken: Bool = false, maximumSubjectTokenAge: Seconds = .days(90),
        maximumAgeByProvider: [Issuer: Seconds] = [:], providersRequiringUnexpired: Set<Issuer> = [],
        sessionLifetime: Seconds = .days(90),
        enrolsByExchange: Bool = false, codeRelay: CodeRelayPolicy? = nil, isDisabled: Bool = false
    ) {
        self.issuer = issuer
        self.audienceAliases = audienceAliases
        self.profiles = profiles
        self.hashMode = hashMode
        self.acceptsHyphenatedIDTokenType = acceptsHyphenatedIDTokenType
        self.admitsOnFirstSight = admitsOnFirstSight
        self.maximumFirstSightAge = maximumFirstSightAge
        self.firstSightRequiresUnexpired = firstSightRequiresUnexpired
        self.requiresUnexpiredIDToken = requiresUnexpiredIDToken
        self.maximumSubjectTokenAge = maximumSubjectTokenAge
        self.maximumAgeByProvider = maximumAgeByProvider
        self.providersRequiringUnexpired = providersRequiringUnexpired
        self.sessionLifetime = sessionLifetime
        self.enrolsByExchange = enrolsByExchange
        self.codeRelay = codeRelay
        self.isDisabled = isDisabled
    }

    /// Whether `audience` names this issuer: the issuer itself or an alias, octet by octet.
    package func isNamed(by audience: String) -> Bool {
        issuer.string.hasSameOctets(as: audience) || audienceAliases.contains { $0.hasSameOctets(as: audience) }
    }
}

/// The limits of one identity provider's code relay.
package struct CodeRelayPolicy: Sendable, Hashable {
    /// The time limit of one request to its token endpoint.
    package let timeout: Seconds
    /// Maximum concurrent requests to it; further requests are told to come again. One app uses at most half of them,
    /// and one address at most a quarter.
    package let atOnce: Int
    /// Whether the broker revokes refresh tokens that no app received. That may end the whole grant. RFC 7009 §2.1.
    package let revokesOrphans: Bool
    /// Whether the app also gets the IdP's id_token, for `id_token_hint`. OpenID Connect RP-Initiated Logout §2.
    package let passesIDToken: Bool

    package init(timeout: Seconds = 5, atOnce: Int = 32, revokesOrphans: Bool = true, passesIDToken: Bool = false) {
        self.timeout = timeout
        self.atOnce = atOnce
        self.revokesOrphans = revokesOrphans
        self.passesIDToken = passesIDToken
    }

    /// Maximum concurrent requests to its revocation endpoint, beside the codes. Further tokens are not revoked.
    var revocationsAtOnce: Int { (atOnce + 3) / 4 }
}
