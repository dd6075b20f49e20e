import KeyModule
import NativeSSO

/// The sections that some command reads without the others. ``Configuration`` reads them all.
extension Section {
    func database() -> Configuration.Database {
        section("database", help: "The PostgreSQL that holds clients, sessions and grants.") {
            Configuration.Database(reading: $0)
        }
    }

    func keys() -> Configuration.Keys {
        section("keys", help: "The broker's private keys.") { Configuration.Keys(reading: $0) }
    }

    func sessions() -> Configuration.Sessions {
        section("sessions", help: "How long a login may be used.") { Configuration.Sessions(reading: $0) }
    }

    /// - Parameter sessions: With these, the lifetimes are compared.
    func tokens(of sessions: Configuration.Sessions? = nil) -> Configuration.Tokens {
        section("tokens", help: "Lifetimes of what the broker issues. A client may have lifetimes of its own.") {
            Configuration.Tokens(reading: $0, of: sessions)
        }
    }

    func internalListener(besides publicListener: ListenAddress? = nil) -> Configuration.InternalListener? {
        section(
            "internal",
            help: "The internal listener: health, metrics, published keys, metadata and back-channel logout."
        ) {
            Configuration.InternalListener(reading: $0, publicListener: publicListener)
        }
    }

    func metrics(besides others: [ListenAddress] = []) -> Configuration.MetricsListener? {
        section(
            "metrics", isOptional: true,
            help: "An address of their own for metrics and health. By default the internal listener has them."
        ) { Configuration.MetricsListener(reading: $0, besides: others) }
    }

    /// The identity providers with their policies.
    func identityProviders(_ sessions: Configuration.Sessions) -> [Configuration.IdentityProvider] {
        Configuration.IdentityProvider.all(reading: self, brokerIssuer: nil, sessions).0
    }

    /// The issuers of the identity providers, without reading more of them; empty if the file has none.
    func issuers() -> [Issuer] {
        let issuers = texts("issuer", ofEach: "identity_providers")
        return issuers.compactMap { issuer in
            parsed(issuer.value, at: issuer.place) { try IssuerURL.parse($0, isDevelopment: isDevelopment) }
        }
    }
}

extension [Configuration.IdentityProvider] {
    /// Those whose logins the broker enrols.
    var enrolling: Self { filter { !$0.isDisabled && ($0.policy.enrolsByExchange || $0.codeRelay != nil) } }
}

extension KeyRotation {
    /// The waiting times that the lifetimes of the configuration need. An id_token of an enrolment may be a subject token
    /// long after it expired.
    init(reading root: Section) {
        let sessions = root.sessions()
        self.init(sessions, root.identityProviders(sessions))
    }

    init(_ sessions: Configuration.Sessions, _ providers: [Configuration.IdentityProvider]) {
        self.init(refreshTokenLife: sessions.absolute)
        let ages = providers.enrolling.map(\.policy.maximumSubjectTokenAge)
        signatureLife = ages.reduce(signatureLife, max)
    }
}
