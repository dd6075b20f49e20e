import JOSE
import NativeSSO

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
