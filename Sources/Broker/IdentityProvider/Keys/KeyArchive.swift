public import JOSE
public import NativeSSO

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
