import IdentityProvider
import JOSE
import NativeSSO
import RegularFiles
import StrictCoding

extension Configuration {
    /// One of `identity_providers`: an issuer whose id_tokens are accepted as subject tokens.
    struct IdentityProvider: Sendable {
        let policy: IssuerPolicy
        let keySource: KeySource
        /// Allowed in the header of its id_tokens; never empty, no algorithm under two names.
        let algorithms: [SignatureAlgorithm]
        let authorizationEndpoint: String?
        let keySetRefresh: Seconds
        /// Certificate authorities for the hosts of its keys; `nil`: those that the system trusts.
        let certificateAuthorities: CertificateAuthorities?
        let revokesOnRemoval: Bool
        let subjectNames: SubjectNames
        let logout: LogoutPolicy
        /// How its codes are redeemed; `nil`: they are not.
        let codeRelay: CodeRelay?
        /// Who sends security events about its users; `nil`: nobody.
        let securityEvents: EventSource?
        /// Who revokes all tokens of its users; `nil`: nobody.
        let globalTokenRevocation: EventSource?

        var issuer: Issuer { policy.issuer }
        var isDisabled: Bool { policy.isDisabled }
    }
}

extension Configuration.IdentityProvider {
    /// - Parameter sessions: The defaults of every identity provider.
    init?(reading section: Section, sessions: Configuration.Sessions) {
        let issuer = section.required(
            "issuer", .url, example: "https://idp.example.com",
            help: "`iss` of its id_tokens, octet by octet. Apps send it as `audience`."
        ) {
            try IssuerURL.parse($0, isDevelopment: section.isDevelopment)
        }
        if issuer?.hasTrailingSlash == true { section.warn("issuer", IssuerURL.trailingSlashWarning) }
        let keySource = KeySource(reading: section, issuer: issuer)
        authorizationEndpoint = section.value(
            "authorization_endpoint", .url, help: "Where its users log in. By default that of the discovery document."
        ) {
            try WebURL($0, allowsLoopbackHTTP: section.isDevelopment).string
        }
        keySetRefresh = section.duration(
            "jwks_refresh", default: .minutes(5), in: 30 ... .hours(24), help: "How often the key set is fetched.")
        certificateAuthorities = section.file(
            "ca_file",
            help: "PEM: certificate authorities to trust instead of the system's. Read at the start.",
            Self.authorities)
        if section.isGiven("ca_file"), section.isGiven("jwks_file") {
            section.report("ca_file", "belongs to keys that are fetched, and jwks_file is given; remove one of them")
        }
        revokesOnRemoval = section.flag(
            "revoke_on_removal", default: false,
            help: "Refuse every id_token whose key left the key set. By default, id_tokens from before stay valid.")
        algorithms = Self.algorithms(section)
        let isDisabled = section.flag(
            "disabled", default: false, help: "Refuse every request that names this identity provider.")
        subjectNames = SubjectNames(reading: section)
        logout = section.section("logout", help: "Its back-channel logout tokens.") { LogoutPolicy(reading: $0) }
        let relay = section.section(
            "code_relay", isOptional: true, help: "Redeem authorization codes for apps. The section may be empty: `{}`."
        ) { Configuration.CodeRelay(reading: $0, keySource: keySource) }
        codeRelay = section.isGiven("code_relay") ? relay : nil
        securityEvents = section.section(
            "security_events", help: "Its security events (RFC 8935). The section may be empty: `{}`."
        ) {
            Configuration.EventSource(
                reading: $0, isGiven: section.isGiven("security_events"), provider: issuer, takesAudiences: true)
        }
        globalTokenRevocation = section.section(
            "global_token_revocation",
            help: "Its requests to revoke all tokens of a user. The section may be empty: `{}`."
        ) {
            Configuration.EventSource(
                reading: $0, isGiven: section.isGiven("global_token_revocation"), provider: issuer,
                takesAudiences: false)
        }
        switch keySource {
        case .keySet, .file:
            if let codeRelay, codeRelay.tokenEndpoint == nil, section.isSound {
                section.report(
                    "code_relay", "needs token_endpoint where keys do not come from a discovery document; write it")
            }
        case .discovery, nil: break
        }
        policy = Self.policy(section, issuer: issuer, relay: codeRelay?.policy, isDisabled: isDisabled, sessions)
        guard let keySource else { return nil }
        self.keySource = keySource
    }

    static func authorities(_ path: String) throws(ValueDefect) -> CertificateAuthorities {
        let octets = try RegularFile.trusted(try PathText.absolute(path))
        guard let authorities = CertificateAuthorities(pem: octets) else {
            throw ValueDefect("the file holds no certificates in PEM")
        }
        return authorities
    }

    // MARK: Policy

    private static func policy(
        _ section: Section, issuer: Issuer?, relay: CodeRelayPolicy?, isDisabled: Bool,
        _ sessions: Configuration.Sessions
    ) -> IssuerPolicy {
        IssuerPolicy(
            issuer: issuer ?? Issuer(validated: ""),
            audienceAliases: section.identifiers(
                "audience_aliases", help: "Other values of `audience` that mean this identity provider."
            ).map { (alias: Issuer) in alias.string },
            profiles: profiles(section),
            hashMode: section.choice(
                "hash_mode", default: .leftHalf,
                help: "How it computes `ds_hash`. `left_half` is the construction of `at_hash`."),
            acceptsHyphenatedIDTokenType: section.flag(
                "legacy_id_token_type", default: false,
                help: "Also accept the older spelling `id-token` in `subject_token_type`."),
            admitsOnFirstSight: section.flag(
                "admit_on_first_sight", default: false,
                help: "Let the first exchange create a session that the broker does not know yet."),
            maximumFirstSightAge: section.duration(
                "first_sight_max_age", default: .hours(24), in: Configuration.Sessions.subjectTokenAges,
                help: "The greatest age of an id_token that creates a session at first sight, also of an expired one."),
            firstSightRequiresUnexpired: section.flag(
                "first_sight_requires_unexpired", default: false,
                help: "Let no expired id_token create a session at first sight."),
            requiresUnexpiredIDToken: section.flag(
                "require_unexpired", default: false,
                help: "Refuse expired id_tokens, also those that the broker issued at an enrolment."),
            maximumSubjectTokenAge: section.duration(
                "subject_token_max_age", default: sessions.maximumSubjectTokenAge,
                in: Configuration.Sessions.subjectTokenAges,
                help: "The greatest age of its id_tokens. By default `sessions.subject_token_max_age`."),
            sessionLifetime: sessions.absolute,
            enrolsByExchange: section.choice(
                "enrolment", default: EnrolmentMode.off,
                help: "`exchange`: apps enrol their logins by id_token, for an identity provider without Native SSO."
            ) == .exchange, codeRelay: relay, isDisabled: isDisabled)
    }

    /// Whether apps bring their logins here themselves.
    private enum EnrolmentMode: String, CaseIterable {
        case off
        case exchange
    }

    /// The names an operator chooses from. `device-secret` stands for the current type and the older `urn:x-oath:` one.
    private enum ProfileName: String, CaseIterable {
        case deviceID = "device-id"
        case deviceSecret = "device-secret"
    }

    private static func profiles(_ section: Section) -> Set<Profile> {
        let acceptsOlderType = section.flag(
            "x_oath_urn", default: true,
            help: "Under the profile device-secret, also accept the older `urn:x-oath:` token type.")
        let names = section.values(
            "profiles", .choice(ProfileName.allCases.map(\.rawValue)),
            missing: "is missing; write [device-secret], [device-id] or both",
            empty: "must name device-secret, device-id or both",
            help: "Which device values its apps use. `device-secret`: draft 07. `device-id`: the 2018 profile.",
            ProfileName.parse)
        var profiles: Set<Profile> = []
        for name in names {
            switch name.value {
            case .deviceID: profiles.insert(.deviceID)
            case .deviceSecret:
                profiles.insert(.deviceSecret)
                if acceptsOlderType { profiles.insert(.deviceSecretTransitional) }
            }
        }
        return profiles
    }

    // MARK: Algorithms

    private static func algorithms(_ section: Section) -> [SignatureAlgorithm] {
        let names = section.values(
            "algorithms", .choice(SignatureAlgorithm.allCases.map(\.rawValue)),
            missing: "is missing; write what the identity provider signs id_tokens with, such as [RS256]",
            empty: "must name at least one algorithm, such as RS256",
            help: "The signature algorithms of its id_tokens and logout tokens.", algorithm)
        var algorithms: [SignatureAlgorithm] = []
        for name in names {
            if algorithms.contains(where: { $0.isSame(as: name.value) }) {
                section.report(name.place, "is the same algorithm as one before; remove it")
            } else {
                algorithms.append(name.value)
            }
        }
        return algorithms
    }

    private static func algorithm(_ name: String) throws(ValueDefect) -> SignatureAlgorithm {
        if let algorithm = SignatureAlgorithm(name: name) { return algorithm }
        let known = SignatureAlgorithm.allCases.map(\.rawValue).joined(separator: ", ")
        switch name.lowercased() {
        case "none":
            throw ValueDefect("none is no signature: anyone could write such a token; write one of \(known)")
        case let name where name.hasPrefix("hs"):
            throw ValueDefect(
                "is symmetric: everyone who can verify such a token can also write one; write one of \(known)"
            )
        default:
            throw ValueDefect("is not a signature algorithm that is accepted here; write one of \(known)")
        }
    }
}

extension Configuration.IdentityProvider {
    /// All valid entries of `identity_providers`, and how the broker names their users.
    static func all(
        reading root: Section, brokerIssuer: Issuer?, _ sessions: Configuration.Sessions
    ) -> ([Self], SubjectPrefixes) {
        var names = AudienceNames()
        if let brokerIssuer {
            names.claim(
                Located(value: brokerIssuer.string, place: root.place(of: "issuer")),
                as: "the issuer of the broker itself", root)
        }
        var aliases = root.texts("audience_aliases").map { (name: $0, owner: "an alias of the broker itself") }
        let providers = root.sections(
            "identity_providers", help: "The identity providers whose id_tokens are accepted; at least one."
        ) { section in
            if let issuer = section.text("issuer") { names.claim(issuer, as: "the issuer of \(section.path)", root) }
            aliases += section.texts("audience_aliases").map { ($0, "an alias of \(section.path)") }
            return Self(reading: section, sessions: sessions)
        }
        // Runs after all issuers, so that the report names the alias if it equals another issuer.
        for alias in aliases { names.claim(alias.name, as: alias.owner, root) }
        let sound = providers.compactMap(\.self)
        if providers.isEmpty {
            root.report("identity_providers", "must list at least one identity provider")
        } else if sound.count == providers.count {
            warn(about: sound, root)
        }
        let named = sound.filter { !$0.issuer.string.isEmpty }
        return (sound, SubjectPrefixes(of: named, areAll: named.count == providers.count, root))
    }
}

extension Configuration.IdentityProvider {
    /// Warns if no app can use any of their logins.
    private static func warn(about providers: [Self], _ root: Section) {
        let enabled = providers.filter { !$0.isDisabled }
        if enabled.isEmpty {
            root.warn("identity_providers", "all of them are disabled: every exchange will be refused")
        } else if enabled.enrolling.isEmpty, !enabled.contains(where: \.policy.admitsOnFirstSight) {
            root.warn(
                "identity_providers",
                "none of them begins sessions; write admit_on_first_sight: true (for Native SSO), enrolment: exchange or "
                    + "code_relay: {}, unless native-sso session register or the SQL function register_session makes every "
                    + "session")
        }
    }
}

/// The broker's issuer, and every name by which an `audience` parameter can select an identity provider. Each name stands
/// for one issuer: a request must not reach an issuer's keys under another issuer's policy.
struct AudienceNames {
    private var owners: [String: String] = [:]

    /// Reports the name if it is taken.
    /// - Parameter owner: The owner of the name, for the message about a second claim.
    mutating func claim(_ name: Located<String>, as owner: String, _ root: Section) {
        if let first = owners[name.value] {
            root.report(name.place, "is already \(first); each name stands for one issuer")
        } else {
            owners[name.value] = owner
        }
    }
}
