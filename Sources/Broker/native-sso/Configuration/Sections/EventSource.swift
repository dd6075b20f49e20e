import IdentityProvider
import NativeSSO

extension Configuration {
    /// `security_events` or `global_token_revocation` of an identity provider: who signs, and for whom.
    struct EventSource: Sendable {
        /// `iss` of the tokens.
        let issuer: Issuer
        /// `nil`: the keys of the identity provider.
        let keySource: KeySource?
        /// `aud`; empty: the default.
        let audiences: [String]

        /// `nil` if the section is not given or invalid.
        /// - Parameters:
        ///   - provider: The issuer of the identity provider; `nil` if it is invalid.
        ///   - takesAudiences: Whether `aud` can be set.
        init?(reading section: Section, isGiven: Bool, provider: Issuer?, takesAudiences: Bool) {
            let own = section.value(
                "issuer", .url, help: "`iss` of these tokens. By default the `issuer` of the identity provider."
            ) {
                try IssuerURL.parse($0, isDevelopment: section.isDevelopment)
            }
            let hasOwnKeys = ["issuer", "discovery", "jwks_uri", "jwks_file"].contains(where: section.isGiven)
            let source = KeySource(reading: section, issuer: own ?? provider)
            audiences =
                takesAudiences
                ? section.identifiers(
                    "audiences", help: "Accepted `aud` values. By default the broker's `issuer`."
                ).map { (audience: Issuer) in audience.string } : []
            guard isGiven, let issuer = own ?? provider else { return nil }
            self.issuer = issuer
            keySource = hasOwnKeys ? source : nil
        }
    }
}

extension Configuration.IdentityProvider {
    /// Reports two identity providers whose events have the same signer, and sections without effect.
    static func checkEvents(
        of providers: [Self], _ backchannel: Configuration.Backchannel?, _ root: Section
    ) {
        for (key, flag, source) in [
            ("security_events", backchannel?.takesEvents, \Self.securityEvents),
            ("global_token_revocation", backchannel?.takesRevocations, \Self.globalTokenRevocation),
        ] {
            var signers: Set<Issuer> = []
            let enabled = providers.filter { !$0.isDisabled }.compactMap { $0[keyPath: source] }
            for source in enabled where !signers.insert(source.issuer).inserted {
                root.report(
                    "identity_providers",
                    "two have \(key) with the issuer \(source.issuer): one signer speaks for one identity provider")
            }
            if enabled.isEmpty, flag == true {
                root.warn("backchannel", "\(key) is true, and no identity provider has \(key): every token is refused")
            }
            if !enabled.isEmpty, flag != true {
                root.warn("identity_providers", "\(key) has no effect: backchannel.\(key) is not true")
            }
        }
    }
}
