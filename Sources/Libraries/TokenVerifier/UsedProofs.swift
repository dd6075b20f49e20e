import Crypto
public import JOSE
import NIOConcurrencyHelpers

/// The DPoP proofs that were used lately, so that none works twice. RFC 9449 §11.1.
///
/// It remembers a proof for as long as its `iat` would be accepted, in this process only: several processes of one API
/// each accept a proof once.
public final class UsedProofs: Sendable {
    private struct State {
        var recent: Set<SHA256Digest> = []
        var earlier: Set<SHA256Digest> = []
        var turnedAt: Duration = .zero
    }

    private static let life: Duration = .seconds(TokenVerifier.oldestProof + TokenVerifier.furthestAhead)

    private let capacity: Int
    private let elapsed: @Sendable () -> Duration
    private let state = NIOLockedValueBox(State())

    /// - Parameters:
    ///   - capacity: The most proofs in 90 s, some 64 octets each. Further proofs are refused with `tooManyProofs`: to
    ///     forget one would let it work again.
    ///   - clock: Measures the age of what it remembers.
    public init<C: Clock>(capacity: Int = 1_000_000, clock: C = ContinuousClock()) where C.Duration == Duration {
        self.capacity = max(capacity, 1)
        let start = clock.now
        elapsed = { start.duration(to: clock.now) }
    }

    /// Notes the use of a verified proof.
    ///
    /// - Throws: `usedProof` at the second use, `tooManyProofs` when it is full.
    public func use(_ proof: DPoPProof) throws(VerificationError) {
        var hash = SHA256()
        hash.update(data: proof.key.thumbprint)
        hash.update(data: Array(proof.tokenID.utf8))
        let digest = hash.finalize()
        let refusal = state.withLockedValue { state -> VerificationError? in
            let now = elapsed()
            if now - state.turnedAt > Self.life {
                // What is older than two lives is of no use.
                state.earlier = now - state.turnedAt > Self.life * 2 ? [] : state.recent
                state.recent = []
                state.turnedAt = now
            }
            if state.recent.contains(digest) || state.earlier.contains(digest) { return VerificationError(.usedProof) }
            guard state.recent.count < capacity else { return VerificationError(.tooManyProofs) }
            state.recent.insert(digest)
            return nil
        }
        if let refusal { throw refusal }
    }
}
