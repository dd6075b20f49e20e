package import JOSE
package import NativeSSO
import StrictCoding

/// An issuer's known keys at one moment. Each request works with one snapshot.
struct KeySnapshot: Sendable {
    /// The last fetched key set; `nil` before the first.
    var current: JSONWebKeySet?
    /// The time of that fetch, on the monotonic clock.
    var fetchedAt: Duration = .zero
    /// The recorded lives: from the archive, and from this broker's own fetches in case the archive missed them. By
    /// entry of the key set: a key with two `kid` values has two lives.
    private var lives: [JSONWebKey: ArchivedKey] = [:]
    /// Thumbprints: a revocation applies to all entries of a key. Never removed.
    private var revoked: Set<[UInt8]> = []
    /// From the issuer's discovery document.
    var endpoints = ProviderEndpoints()
    /// Whether all of the archive was read. Otherwise the broker cannot tell whether a key is unknown or revoked.
    private(set) var isArchiveRead = false
    /// Why the last fetch failed; nil if it succeeded.
    var failure: KeySetFetchError?

    /// Merges the archive's content; `nil`: it could not be read.
    mutating func merge(_ archived: ArchivedKeys?) {
        guard let archived else { return }
        for life in archived.lives { merge(life) }
        revoked.formUnion(archived.revoked)
        isArchiveRead = archived.isComplete
    }

    /// Records that the key set contained `keys` at `now`.
    mutating func see(_ keys: [JSONWebKey], at now: UnixTime) {
        for key in keys { merge(ArchivedKey(key: key, firstSeen: now, lastSeen: now)) }
    }

    private mutating func merge(_ life: ArchivedKey) {
        let known = lives[life.key] ?? life
        lives[life.key] = ArchivedKey(
            key: life.key, firstSeen: min(known.firstSeen, life.firstSeen), lastSeen: max(known.lastSeen, life.lastSeen)
        )
    }

    /// Maximum retired keys to try per `kid`. An issuer with unique `kid` values never has more than one.
    private static let mostRetired = 4

    /// The key of the current key set for this header.
    func currentKey(for header: JOSEHeader) throws(JWSError) -> JSONWebKey {
        guard let current else { throw .unknownKey }
        return try current.key(for: header)
    }

    /// The keys that have left the key set and may have signed a token with this header, latest first. None without a
    /// `kid`, because nothing else identifies a retired key.
    func retiredKeys(for header: JOSEHeader) -> [ArchivedKey] {
        guard let keyID = header.keyID else { return [] }
        let retired = lives.values.filter { life in
            life.key.keyID?.hasSameOctets(as: keyID) == true && life.key.supports(header.algorithm)
                && current?.keys.contains(life.key) != true
        }
        return Array(retired.sorted { $0.lastSeen > $1.lastSeen }.prefix(Self.mostRetired))
    }

    func isRevoked(_ key: JSONWebKey) -> Bool { revoked.contains(key.thumbprint) }
}

/// Records which keys an issuer's key set has contained, and when. All brokers share it, and it survives restarts.
///
/// A subject token may be months old, and its key retired. *Retired is not revoked*: the key still verifies tokens
/// issued during its life.
package protocol KeyArchive: Sendable {
    /// All recorded keys of `issuer`.
    func keys(of issuer: Issuer) async throws(PortError) -> ArchivedKeys

    /// Records that the key set of `issuer` contains `keys` now. A key's recorded life never shrinks.
    func record(_ keys: [JSONWebKey], of issuer: Issuer) async throws(PortError)
}

package struct ArchivedKeys: Sendable {
    package var lives: [ArchivedKey]
    /// RFC 7638 thumbprints of revoked keys. They verify nothing, whether or not they are in the key set or have a
    /// recorded life.
    package var revoked: Set<[UInt8]>
    /// Whether ``revoked`` has all revoked keys. A record of one may not say which key it is of.
    package var isComplete: Bool

    package init(lives: [ArchivedKey] = [], revoked: Set<[UInt8]> = [], isComplete: Bool = true) {
        self.lives = lives
        self.revoked = revoked
        self.isComplete = isComplete
    }
}

/// A key with the times of its first and last sighting.
package struct ArchivedKey: Sendable {
    package let key: JSONWebKey
    package let firstSeen: UnixTime
    package let lastSeen: UnixTime

    package init(key: JSONWebKey, firstSeen: UnixTime, lastSeen: UnixTime) {
        self.key = key
        self.firstSeen = firstSeen
        self.lastSeen = lastSeen
    }

    /// Whether `instant` is in the key's life, extended by `tolerance` at both ends.
    func wasLive(at instant: UnixTime, tolerance: Seconds) -> Bool {
        firstSeen.adding(Seconds(-tolerance.count)) <= instant && instant <= lastSeen.adding(tolerance)
    }
}
