import NativeSSO

extension Configuration.IdentityProvider {
    /// All of `identity_providers`; `nil` where one of them does not hold.
    static func all(
        reading root: Section, brokerIssuer: Issuer?, _ context: IdentityProviderContext
    ) -> [Configuration.IdentityProvider]? {
        var names = AudienceNames()
        if let brokerIssuer {
            names.claim(
                Located(value: brokerIssuer.string, place: root.place(of: "issuer")),
                as: "the issuer of the broker itself", root)
        }
        var aliases: [(name: Located<String>, owner: String)] = []
        let providers = root.sections("identity_providers") { section in
            if let issuer = section.text("issuer") { names.claim(issuer, as: "the issuer of \(section.path)", root) }
            aliases += section.texts("audience_aliases").map { ($0, "an alias of \(section.path)") }
            return Self(reading: section, context)
        }
        // After all issuers, so that it is the alias that is reported where an alias is another's issuer.
        for alias in aliases { names.claim(alias.name, as: alias.owner, root) }
        guard let providers, !providers.isEmpty else {
            if !root.isGiven("identity_providers") || providers?.isEmpty == true {
                root.report("identity_providers", "must list at least one identity provider")
            }
            return nil
        }
        let sound = providers.compactMap(\.self)
        guard sound.count == providers.count else { return nil }
        if sound.allSatisfy(\.isDisabled) {
            root.warn("identity_providers", "all of them are disabled: every exchange will be refused")
        }
        return sound
    }
}
