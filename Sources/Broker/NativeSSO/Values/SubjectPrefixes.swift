/// The prefix that the broker puts before the `sub` of each identity provider, in every token that it signs.
///
/// Two identity providers may give the same `sub` to two users. With the prefix they are two users for an API, too.
/// The registry keeps the `sub` of the identity provider.
package struct SubjectPrefixes: Sendable, Hashable {
    /// Octets, and as long as a `sub` at most.
    package static let maximumLength = 64

    private let prefixes: [Issuer: String]

    /// - Parameter prefixes: Of every identity provider whose users the broker may name; empty: no prefix. None may
    ///   begin with another one, except that the empty one begins each.
    package init(_ prefixes: [Issuer: String]) { self.prefixes = prefixes }

    /// `nil`: the broker names no users of `provider`.
    package func prefix(of provider: Issuer) -> String? { prefixes[provider] }

    /// Whether users of two identity providers with these prefixes could get one name. A `sub` of an identity provider
    /// without prefix that begins with the prefix of another is refused, so those two are apart.
    package static func mayNameAlike(_ one: String, _ other: String) -> Bool {
        guard !one.isEmpty, !other.isEmpty else { return one.isEmpty && other.isEmpty }
        return one.utf8.starts(with: other.utf8) || other.utf8.starts(with: one.utf8)
    }

    /// `sub` of the broker's tokens for a user of `provider`.
    /// - Throws: `subjectReserved` if the name would be that of another identity provider's user; `subject` if it is
    ///   longer than 255 octets; `issuerMismatch` if the identity provider has no prefix here, not even an empty one.
    package func name(_ subject: Subject, at provider: Issuer) throws(SubjectTokenDefect) -> Subject {
        guard let prefix = prefixes[provider] else { throw .issuerMismatch }
        guard !prefix.isEmpty || !isReserved(subject) else { throw .subjectReserved }
        guard let name = Subject(prefix + subject.string) else { throw .subject }
        return name
    }

    /// The inverse of ``name(_:at:)``: the identity provider's own `sub`.
    /// - Returns: `nil` if the broker gives `name` to no user of `provider`.
    package func subject(named name: Subject, at provider: Issuer) -> Subject? {
        guard let prefix = prefixes[provider], name.string.utf8.starts(with: prefix.utf8),
            let subject = Subject(String(decoding: name.string.utf8.dropFirst(prefix.utf8.count), as: UTF8.self)),
            (try? self.name(subject, at: provider)) != nil
        else { return nil }
        return subject
    }

    private func isReserved(_ subject: Subject) -> Bool {
        prefixes.values.contains { !$0.isEmpty && subject.string.utf8.starts(with: $0.utf8) }
    }
}
