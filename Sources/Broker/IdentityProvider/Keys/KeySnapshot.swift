public import JOSE
public import NativeSSO

/// What is known of an issuer's keys at one moment. A request takes one and works with it.
struct KeySnapshot: Sendable {
    /// The key set, once one was fetched.
    var current: JSONWebKeySet?
    /// When it was fetched, on the monotonic clock.
    var fetchedAt: Duration = .zero
    var history = KeyHistory()
    /// As the issuer said with its key set.
    var endpoints = ProviderEndpoints()
    /// Until the archive was read once, neither "unknown" nor "not revoked" can be said of a key.
    var isArchiveRead = false
    /// Why the latest attempt to fetch failed; nil if it did not.
    var failure: KeySetFetchError?
    /// Tells one from those before and after it.
    var number = 0

    /// Notes what the archive says; `nil`: it could not be read.
    mutating func merge(_ archived: ArchivedKeys?) {
        number += 1
        guard let archived else { return }
        history.merge(archived)
        isArchiveRead = true
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

/// All lives that are known of one issuer's keys: from the archive, and from our own sightings in case the archive missed them.
struct KeyHistory: Sendable {
    /// By entry of the key set: a key that is listed under two names has a life under each.
    private var lives: [JSONWebKey: ArchivedKey] = [:]
    /// By thumbprint: a revoked key is revoked under every name.
    private var revoked: Set<[UInt8]> = []

    /// Notes that `keys` were in the key set at `now`.
    mutating func see(_ keys: [JSONWebKey], at now: UnixTime) {
        for key in keys { merge(ArchivedKey(key: key, firstSeen: now, lastSeen: now)) }
    }

    /// Adds what the archive knows; a revocation is never forgotten.
    mutating func merge(_ archived: ArchivedKeys) {
        for life in archived.lives { merge(life) }
        revoked.formUnion(archived.revoked)
    }

    private mutating func merge(_ life: ArchivedKey) {
        guard let known = lives[life.key] else {
            lives[life.key] = life
            return
        }
        lives[life.key] = ArchivedKey(
            key: life.key, firstSeen: min(known.firstSeen, life.firstSeen), lastSeen: max(known.lastSeen, life.lastSeen)
        )
    }

    func isRevoked(_ key: JSONWebKey) -> Bool { revoked.contains(key.thumbprint) }

    /// The keys that a token with this header may have been signed with, latest first. Without a `kid` there are none: nothing
    /// would tell them apart.
    func lives(for header: JOSEHeader) -> [ArchivedKey] {
        guard let keyID = header.keyID else { return [] }
        return lives.values
            .filter {
                $0.key.keyID.map { Array($0.utf8) == Array(keyID.utf8) } == true && $0.key.supports(header.algorithm)
            }
            .sorted { $0.lastSeen > $1.lastSeen }
    }
}

/// The memory of which keys an issuer's key set has held, and when: shared by all replicas, kept over restarts.
///
/// A subject token may be months old, and its key gone from the key set since. *Retired is not revoked*: such a key still
/// verifies what was issued while it lived.
public protocol KeyArchive: Sendable {
    /// Every key ever recorded for `issuer` that a token could still name.
    func keys(of issuer: Issuer) async throws(PortError) -> ArchivedKeys

    /// Notes that the key set of `issuer` holds `keys` now. A key's life begins with its first sighting and never shrinks.
    func record(_ keys: [JSONWebKey], of issuer: Issuer) async throws(PortError)
}

/// What is remembered of one issuer.
public struct ArchivedKeys: Sendable {
    public var lives: [ArchivedKey]
    /// Thumbprints, RFC 7638, of the keys that an operator revoked: they verify nothing any more, in the key set or not,
    /// and whether or not a life is remembered.
    public var revoked: Set<[UInt8]>

    public init(lives: [ArchivedKey] = [], revoked: Set<[UInt8]> = []) {
        self.lives = lives
        self.revoked = revoked
    }
}

/// A key with its recorded life.
public struct ArchivedKey: Sendable {
    public let key: JSONWebKey
    public let firstSeen: UnixTime
    public let lastSeen: UnixTime

    public init(key: JSONWebKey, firstSeen: UnixTime, lastSeen: UnixTime) {
        self.key = key
        self.firstSeen = firstSeen
        self.lastSeen = lastSeen
    }

    /// Whether a token issued at `instant` falls into the key's life, give or take `tolerance` on both sides.
    func wasLive(at instant: UnixTime, tolerance: Seconds) -> Bool {
        firstSeen.adding(Seconds(-tolerance.count)) <= instant && instant <= lastSeen.adding(tolerance)
    }
}
