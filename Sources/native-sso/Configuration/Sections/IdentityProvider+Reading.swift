import IdentityProvider
import JOSE
import NativeSSO
import RegularFiles
import StrictCoding

/// What the section of one identity provider takes over from the rest of the file.
struct IdentityProviderContext {
    let isDevelopment: Bool
    /// `nil` where that section does not hold.
    let sessions: Configuration.Sessions?
}

extension Configuration.IdentityProvider {
    init?(reading section: Section, _ context: IdentityProviderContext) {
        let issuer = section.required("issuer", example: "https://idp.example.com") { text throws(ValueDefect) in
            try IssuerURL.parse(text, isDevelopment: context.isDevelopment)
        }
        if issuer?.hasTrailingSlash == true { section.warn("issuer", IssuerURL.trailingSlashWarning) }
        let keySource = Configuration.KeySource(reading: section, issuer: issuer, isDevelopment: context.isDevelopment)
        let endpoint = section.value("authorization_endpoint") { text throws(ValueDefect) in
            try WebURL(text, allowsLoopbackHTTP: context.isDevelopment).string
        }
        let refresh = section.duration("jwks_refresh", default: .minutes(5), in: 30 ... .hours(24))
        let authorities = section.value("ca_file", Self.authorities)
        if section.isGiven("ca_file"), section.isGiven("jwks_file") {
            section.report("ca_file", "belongs to keys that are fetched, and jwks_file is given; remove one of them")
        }
        let revokesOnRemoval = section.flag("revoke_on_removal", default: false)
        let algorithms = Self.algorithms(section)
        let isDisabled = section.flag("disabled", default: false)
        let logout = section.section("logout") { LogoutPolicy(reading: $0) }
        let relay = Configuration.CodeRelay.reading(section, keySource: keySource, context)
        let policy = Self.policy(section, issuer: issuer, relay: relay?.policy, context)
        guard let policy, let keySource, let refresh, let revokesOnRemoval, let isDisabled, let logout,
            !algorithms.isEmpty
        else {
            return nil
        }
        self.init(
            policy: policy, keySource: keySource, algorithms: algorithms, authorizationEndpoint: endpoint,
            keySetRefresh: refresh, certificateAuthorities: authorities, revokesOnRemoval: revokesOnRemoval,
            isDisabled: isDisabled, logout: logout, codeRelay: relay
        )
    }

    /// Whoever may write the file may say who the identity provider is.
    private static func authorities(_ path: String) throws(ValueDefect) -> CertificateAuthorities {
        let file = try RegularFile.contents(try PathText.absolute(path), limit: 1 << 20)
        guard !file.isWritableByAnyone else { throw ValueDefect("everyone can write the file; run chmod o-w on it") }
        guard let authorities = CertificateAuthorities(pem: file.octets) else {
            throw ValueDefect("the file holds no certificates in PEM")
        }
        return authorities
    }

    // MARK: Policy

    private static func policy(
        _ section: Section, issuer: Issuer?, relay: CodeRelayPolicy?, _ context: IdentityProviderContext
    ) -> IssuerPolicy? {
        let profiles = profiles(section)
        let aliases = section.values("audience_aliases", alias) ?? []
        let hashMode = section.choice("hash_mode", default: DeviceHashMode.leftHalf)
        let hyphenated = section.flag("legacy_id_token_type", default: false)
        let firstSight = section.flag("admit_on_first_sight", default: false)
        let firstSightAge = section.duration(
            "first_sight_max_age", default: .hours(24), in: Configuration.Sessions.subjectTokenAges)
        let enrolment = section.choice("enrolment", default: EnrolmentMode.off)
        let unexpired = section.flag("require_unexpired", default: false)
        let age = section.duration(
            "subject_token_max_age", default: context.sessions?.maximumSubjectTokenAge ?? .days(90),
            in: Configuration.Sessions.subjectTokenAges)
        guard let issuer, let hashMode, let hyphenated, let firstSight, let firstSightAge, let unexpired, let age,
            let enrolment,
            let sessions = context.sessions, !profiles.isEmpty
        else { return nil }
        return IssuerPolicy(
            issuer: issuer, audienceAliases: aliases.map(\.value), profiles: profiles, hashMode: hashMode,
            acceptsHyphenatedIDTokenType: hyphenated, admitsOnFirstSight: firstSight,
            maximumFirstSightAge: firstSightAge,
            requiresUnexpiredIDToken: unexpired, maximumSubjectTokenAge: age, sessionLifetime: sessions.absolute,
            enrolsByExchange: enrolment == .exchange, codeRelay: relay)
    }

    /// Whether apps bring their logins here themselves.
    private enum EnrolmentMode: String, CaseIterable {
        case off
        case exchange
    }

    static func alias(_ text: String) throws(ValueDefect) -> String {
        guard let alias = Issuer(text) else {
            throw ValueDefect("write at most \(Issuer.maximumLength) printable ASCII characters")
        }
        return alias.string
    }

    /// The names an operator chooses from. `device-secret` stands for the current type and the older `urn:x-oath:` one.
    private enum ProfileName: String, CaseIterable {
        case deviceID = "device-id"
        case deviceSecret = "device-secret"
    }

    private static func profiles(_ section: Section) -> Set<Profile> {
        let acceptsOlderType = section.flag("x_oath_urn", default: true)
        guard let names = section.values("profiles", Choice<ProfileName>.parse) else {
            if !section.isGiven("profiles") {
                section.report("profiles", "is missing; write [device-secret], [device-id] or both")
            }
            return []
        }
        var profiles: Set<Profile> = []
        for name in names {
            switch name.value {
            case .deviceID: profiles.insert(.deviceID)
            case .deviceSecret:
                profiles.insert(.deviceSecret)
                if acceptsOlderType == true { profiles.insert(.deviceSecretTransitional) }
            }
        }
        if section.isEmptyList("profiles") { section.report("profiles", "must name device-secret, device-id or both") }
        return profiles
    }

    // MARK: Algorithms

    private static func algorithms(_ section: Section) -> [SignatureAlgorithm] {
        guard let names = section.values("algorithms", algorithm) else {
            if !section.isGiven("algorithms") {
                section.report(
                    "algorithms", "is missing; write what the identity provider signs id_tokens with, such as [RS256]")
            }
            return []
        }
        if section.isEmptyList("algorithms") {
            section.report("algorithms", "must name at least one algorithm, such as RS256")
        }
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
                "is symmetric: whoever can check such a token, or finds the public key set, can write one; write one of \(known)"
            )
        default:
            throw ValueDefect("is not a signature algorithm that is accepted here; write one of \(known)")
        }
    }
}
