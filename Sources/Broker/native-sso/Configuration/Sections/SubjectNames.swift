import NativeSSO
import StrictCoding

extension Configuration.IdentityProvider {
    /// How the broker names the users of one identity provider: `subject_prefix` or `shares_subjects_with`.
    struct SubjectNames: Sendable {
        /// Empty: none is given.
        let prefix: String
        /// `nil`: it has a prefix of its own, or none.
        let twin: Issuer?
        /// Where each key is, or would be.
        let prefixPlace: Place
        let twinPlace: Place

        init(reading section: Section) {
            prefix =
                section.value(
                    "subject_prefix", .text("printable ASCII without spaces, at most 64 characters"),
                    help:
                        "Put before each `sub` in the broker's tokens. Only one identity provider may do without: see [identity providers](identity-providers/README.md).",
                    Self.prefix) ?? ""
            twin = section.value(
                "shares_subjects_with", .url,
                help:
                    "`issuer` of the identity provider that gives the same users the same `sub`. It has the prefix of both."
            ) {
                try IssuerURL.parse($0, isDevelopment: section.isDevelopment)
            }
            (prefixPlace, twinPlace) = (section.place(of: "subject_prefix"), section.place(of: "shares_subjects_with"))
            if section.isGiven("subject_prefix"), section.isGiven("shares_subjects_with") {
                section.report(
                    twinPlace, "belongs to an identity provider without subject_prefix; remove one of them")
            }
        }

        private static func prefix(_ text: String) throws(ValueDefect) -> String {
            guard (1...SubjectPrefixes.maximumLength).contains(text.utf8.count),
                text.isPrintableASCII(except: UInt8(ascii: " "))
            else {
                throw ValueDefect(
                    "write 1 to \(SubjectPrefixes.maximumLength) printable ASCII characters without spaces, such as partner|"
                )
            }
            return text
        }
    }
}

extension SubjectPrefixes {
    private typealias Provider = Configuration.IdentityProvider

    /// Reports each choice by which two users could have one `sub`.
    ///
    /// A disabled identity provider without prefix does not count, and its users have no name beside those of an enabled
    /// one without prefix: their grants are not refreshed.
    /// - Parameter areAll: `false`: some others could not be read.
    init(of providers: [Configuration.IdentityProvider], areAll: Bool, _ root: Section) {
        let owners = providers.map { Self.owner(of: $0, among: providers, areAll, root) }
        Self.reportAlike(providers, root)
        let plain = Self.plain(zip(providers, owners).map { ($0, $1) }, root)
        var prefixes: [Issuer: String] = [:]
        for (provider, owner) in zip(providers, owners) {
            guard let owner, !owner.subjectNames.prefix.isEmpty || owner.issuer == plain else { continue }
            prefixes[provider.issuer] = owner.subjectNames.prefix
        }
        self.init(prefixes)
    }

    /// The identity provider whose prefix `provider` has; `nil` if that was reported.
    private static func owner(of provider: Provider, among providers: [Provider], _ areAll: Bool, _ root: Section)
        -> Provider?
    {
        guard let twin = provider.subjectNames.twin else { return provider }
        let place = provider.subjectNames.twinPlace
        guard let owner = providers.first(where: { $0.issuer == twin }), twin != provider.issuer else {
            if areAll {
                root.report(
                    place, "is the issuer of no other identity provider; write one as it is in identity_providers")
            }
            return nil
        }
        if let further = owner.subjectNames.twin {
            root.report(place, "names one that has shares_subjects_with itself; write \(further)")
            return nil
        }
        return owner
    }

    private static func reportAlike(_ providers: [Provider], _ root: Section) {
        for (index, provider) in providers.enumerated() {
            let prefix = provider.subjectNames.prefix
            let other = providers[..<index].first { other in
                !prefix.isEmpty && mayNameAlike(prefix, other.subjectNames.prefix)
            }
            guard let other else { continue }
            root.report(
                provider.subjectNames.prefixPlace,
                "begins like that of \(other.issuer), and one of them holds the other; write another, or "
                    + "shares_subjects_with: \(other.issuer) if both give the same users the same sub")
        }
    }

    /// The one identity provider whose users, and those of its twins, have no prefix. Reports a second one.
    private static func plain(_ pairs: [(provider: Provider, owner: Provider?)], _ root: Section) -> Issuer? {
        var (enabled, all): ([Issuer], Set<Issuer>) = ([], [])
        for case (let provider, let owner?) in pairs where owner.subjectNames.prefix.isEmpty {
            all.insert(owner.issuer)
            guard !provider.isDisabled, !enabled.contains(owner.issuer) else { continue }
            if let first = enabled.first {
                root.report(
                    owner.subjectNames.prefixPlace,
                    "is missing, and \(first) has none either, so that two users could have the same sub; write it, such as "
                        + "partner|, or shares_subjects_with: \(first) if both give the same users the same sub")
            }
            enabled.append(owner.issuer)
        }
        return enabled.first ?? (all.count == 1 ? all.first : nil)
    }
}
