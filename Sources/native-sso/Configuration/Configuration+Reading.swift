import BrokerHTTP
import NativeSSO

extension Configuration {
    /// `nil` only where something was reported. Every section is read whatever became of the ones before it.
    init?(reading root: Section) {
        let isDevelopment = root.flag("development", default: false) ?? false
        let issuer = root.required("issuer", example: "https://sso.example.com") { text throws(ValueDefect) in
            try IssuerURL.parseOwn(text, isDevelopment: isDevelopment)
        }
        let publicListener = root.section("public") { PublicListener(reading: $0, isDevelopment: isDevelopment) }
        let internalListener = root.section("internal") {
            InternalListener(reading: $0, isDevelopment: isDevelopment, publicListener: publicListener?.listen.internet)
        }
        let database = root.section("database") { Database(reading: $0) }
        let keys = root.section("keys") { Keys(reading: $0) }
        let sessions = root.section("sessions") { Sessions(reading: $0, isDevelopment: isDevelopment) }
        let tokens = root.section("tokens") { Tokens(reading: $0) }
        let dpop = root.section("dpop") { DPoP(reading: $0, issuer: issuer, isDevelopment: isDevelopment) }
        let limits = root.section("limits") {
            RequestLimits(reading: $0, tellsCallersApart: publicListener?.tellsCallersApart ?? true)
        }
        let retention = root.section("retention") { Retention(reading: $0) }
        let log = root.section("log") { Log(reading: $0, isDevelopment: isDevelopment) }
        let providers = IdentityProvider.all(
            reading: root, brokerIssuer: issuer,
            IdentityProviderContext(isDevelopment: isDevelopment, sessions: sessions))
        guard let issuer, let publicListener, let internalListener, let database, let keys, let providers, let sessions,
            let tokens, let dpop, let limits, let retention, let log
        else { return nil }
        self.init(
            issuer: issuer, isDevelopment: isDevelopment, publicListener: publicListener,
            internalListener: internalListener, database: database, keys: keys, identityProviders: providers,
            sessions: sessions, tokens: tokens, dpop: dpop, limits: limits, retention: retention, log: log)
    }
}
