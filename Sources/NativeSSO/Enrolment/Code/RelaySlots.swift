import Synchronization

/// How many codes may be at each identity provider at one time. Whoever finds no place goes away at once: nobody waits here, so
/// that a provider that hangs fills its own places and nothing else.
final class RelaySlots: Sendable {
    private let taken = Mutex<[Issuer: Int]>([:])

    func enter(_ issuer: Issuer, atMost limit: Int) -> Bool {
        taken.withLock { taken in
            let count = taken[issuer, default: 0]
            guard count < limit else { return false }
            taken[issuer] = count + 1
            return true
        }
    }

    func leave(_ issuer: Issuer) { taken.withLock { $0[issuer, default: 1] -= 1 } }

    var count: Int { taken.withLock { $0.values.reduce(0, +) } }
}
