import BrokerHTTP
import NativeSSO

/// The checked configuration of the broker, from one YAML file and `NATIVE_SSO_…` variables.
///
/// Only ``ConfigurationReader`` makes it. Each section in `Sections` declares its keys, their defaults and their bounds.
struct Configuration: Sendable {
    /// `iss` of the tokens that the broker signs.
    let issuer: Issuer
    /// Other values of `audience` that mean this broker, such as `api://default`: for exchanges of enrolled logins.
    let audienceAliases: [String]
    /// For a laptop: allows http and IP addresses in URLs, short sessions and verbose logs. In return, every listener must be
    /// on loopback.
    let isDevelopment: Bool
    let publicListener: PublicListener
    let internalListener: InternalListener
    /// `nil`: metrics are at the internal listener.
    let metrics: MetricsListener?
    /// `nil`: there is no such listener.
    let backchannel: Backchannel?
    let database: Database
    let keys: Keys
    /// At least one. No issuer and no alias occurs twice, disabled ones included.
    let identityProviders: [IdentityProvider]
    let advertisedLogin: AdvertisedLogin
    /// How the broker names the users of each.
    let subjects: SubjectPrefixes
    let sessions: Sessions
    let tokens: Tokens
    let dpop: DPoP
    let limits: RequestLimits
    let log: Log

    /// `nil` only if a problem was reported. Reads every section, even after an invalid one.
    init?(reading root: Section) {
        isDevelopment = root.isDevelopment
        let given = root.required(
            "issuer", .url, example: "https://sso.example.com",
            help: "`iss` of every token that the broker signs. It has no trailing slash and no query."
        ) {
            try IssuerURL.parseOwn($0, isDevelopment: root.isDevelopment)
        }
        issuer = given ?? Issuer(validated: "")
        audienceAliases = root.identifiers(
            "audience_aliases",
            help: "Other values of `audience` that mean the broker itself, in exchanges of logins that it enrolled."
        ).map { (alias: Issuer) in alias.string }
        let publicListener = root.section("public", help: "The public listener: apps reach `POST /token` here.") {
            PublicListener(reading: $0)
        }
        let internalListener = root.internalListener(besides: publicListener?.listen.internet)
        backchannel = root.section(
            "backchannel", isOptional: true,
            help: "The optional backchannel listener: paths for apps, APIs and identity providers, each off by default."
        ) {
            Backchannel(
                reading: $0, isGiven: root.isGiven("backchannel"), issuer: given,
                besides: [publicListener?.listen, (internalListener?.listen).map(PublicAddress.host)].compactMap(\.self)
            )
        }
        let taken = [publicListener?.listen.internet, internalListener?.listen, backchannel?.listener.listen.internet]
        metrics = root.metrics(besides: taken.compactMap(\.self))
        database = root.database()
        keys = root.keys()
        let sessions = root.sessions()
        tokens = root.tokens(of: sessions)
        let dpop = root.section(
            "dpop", help: "What DPoP proofs must contain. Each client's registration says whether it sends proofs."
        ) { DPoP(reading: $0, issuer: given) }
        limits = root.section(
            "limits",
            help:
                "Rate limits. Each broker counts by itself, in memory. `60/1m`: 60 at once, then 60 a minute; `off`: no limit."
        ) {
            RequestLimits(reading: $0, tellsCallersApart: publicListener?.tellsCallersApart ?? true)
        }
        log = root.section("log", help: "The log on standard error.") { Log(reading: $0) }
        (identityProviders, subjects) = IdentityProvider.all(reading: root, brokerIssuer: given, sessions)
        IdentityProvider.checkEvents(of: identityProviders, backchannel, root)
        advertisedLogin = AdvertisedLogin(reading: root)
        if root.isSound { advertisedLogin.check(identityProviders, root) }
        guard let publicListener, let internalListener, let dpop else { return nil }
        self.publicListener = publicListener
        self.internalListener = internalListener
        self.sessions = sessions
        self.dpop = dpop
        if !audienceAliases.isEmpty, enrolledPolicy == nil {
            root.warn("audience_aliases", "has no effect: no identity provider enrols logins here")
        }
    }

    /// The lifetimes for clients without their own.
    var lifetimes: Lifetimes {
        Lifetimes(
            accessToken: tokens.access, refreshGrace: tokens.refreshGrace,
            unboundRefreshGrace: tokens.unboundRefreshGrace, sessionIdle: sessions.idle)
    }

    /// The listeners that take connections from everywhere.
    var listeners: [PublicListener] { [publicListener] + (backchannel.map { [$0.listener] } ?? []) }

    /// The TLS files of the public, the internal and the backchannel listener; `nil` without TLS.
    var tlsFiles: [TLSFiles?] { [publicListener.tls, internalListener.tls, backchannel?.listener.tls] }

    /// Whether any app may enrol its login by id_token.
    var enrolsByExchange: Bool { identityProviders.contains { !$0.isDisabled && $0.policy.enrolsByExchange } }

    /// The policy for subject tokens that the broker signs at an enrolment. `nil`: enrolment is off.
    var enrolledPolicy: IssuerPolicy? {
        let enrolling = identityProviders.enrolling
        guard !enrolling.isEmpty else { return nil }
        let ages = Dictionary(
            enrolling.map { ($0.issuer, $0.policy.maximumSubjectTokenAge) }, uniquingKeysWith: min)
        return IssuerPolicy(
            issuer: issuer, audienceAliases: audienceAliases,
            profiles: enrolling.reduce(into: []) { $0.formUnion($1.policy.profiles) },
            acceptsHyphenatedIDTokenType: enrolling.contains(where: \.policy.acceptsHyphenatedIDTokenType),
            maximumSubjectTokenAge: ages.values.max() ?? sessions.maximumSubjectTokenAge, maximumAgeByProvider: ages,
            providersRequiringUnexpired: Set(enrolling.filter(\.policy.requiresUnexpiredIDToken).map(\.issuer)),
            sessionLifetime: sessions.absolute)
    }
}
