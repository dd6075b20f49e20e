import NativeSSO

extension Configuration {
    /// `tokens`: the spans of what the broker issues.
    struct Tokens: Sendable, Hashable {
        /// `expires_in` of an access token. A session that ends leaves its last one usable for this long.
        let access: Seconds
        /// How long a lost refresh answer may be asked for again where the client authenticates.
        let refreshGrace: Seconds
        /// The same where it does not.
        let unboundRefreshGrace: Seconds
    }
}

extension Configuration.Tokens {
    init?(reading section: Section) {
        let access = section.duration("access", default: .minutes(5), in: 10 ... .hours(24))
        let grace = section.duration("refresh_grace", default: 60, in: 0 ... .minutes(10))
        let unboundGrace = section.duration("unbound_refresh_grace", default: 10, in: 0 ... .minutes(10))
        guard let access, let grace, let unboundGrace else { return nil }
        for (key, value) in [("refresh_grace", grace), ("unbound_refresh_grace", unboundGrace)] where value == 0 {
            section.warn(key, "0: of two refreshes at once, or where an answer was lost, the login is lost as a theft")
        }
        self.init(access: access, refreshGrace: grace, unboundRefreshGrace: unboundGrace)
    }
}
