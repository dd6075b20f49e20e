import JOSE
import NativeSSO

/// What is known of an issuer's keys at one moment. Immutable: a request takes one and works with it.
final class KeySnapshot: Sendable {
    /// The key set, once one was fetched.
    let current: JSONWebKeySet?
    /// When it was fetched, on the monotonic clock.
    let fetchedAt: Duration
    let history: KeyHistory
    /// As the issuer said with its key set.
    let endpoints: ProviderEndpoints
    /// Until the archive was read once, neither "unknown" nor "not revoked" can be said of a key.
    let isArchiveRead: Bool
    /// Why the latest attempt to fetch failed; nil if it did not.
    let failure: KeySetFetchError?

    init(
        current: JSONWebKeySet? = nil, fetchedAt: Duration = .zero, history: KeyHistory = KeyHistory(),
        endpoints: ProviderEndpoints = ProviderEndpoints(), isArchiveRead: Bool = false,
        failure: KeySetFetchError? = nil
    ) {
        self.current = current
        self.fetchedAt = fetchedAt
        self.history = history
        self.endpoints = endpoints
        self.isArchiveRead = isArchiveRead
        self.failure = failure
    }

    /// Retired entries that are tried by one `kid`. An issuer that gives each key a name of its own never has more than one.
    private static let mostRetired = 4

    /// The key in the key set that a token with this header was signed with, if the header is honest.
    func currentKey(for header: JOSEHeader) throws(JWSError) -> JSONWebKey {
        guard let current else { throw .unknownKey }
        return try current.key(for: header)
    }

    /// The entries of the name in `header` that have left the key set, latest first.
    func retiredKeys(for header: JOSEHeader) -> [ArchivedKey] {
        let retired = history.lives(for: header).filter { life in
            current?.keys.contains(life.key) != true
        }
        return Array(retired.prefix(Self.mostRetired))
    }
}
