public import JOSE
public import NativeSSO

/// Verifies the DPoP proofs of token requests: RFC 9449 §4.3 and §5, as far as it can be done before the grant. That a proof is
/// used once only is seen to by the statement of the grant.
public struct ProofVerifier: Sendable {
    private let target: TargetURI
    private let nonces: ProofNonces?
    private let clock: any WallClock

    /// How old a proof may be, and how far ahead the clock of the device.
    static let oldest: Seconds = 60
    static let furthestAhead: Seconds = 30
    /// The same where a nonce tells the time of the proof: then a clock may be as wrong as this.
    static let largestClockError: Seconds = .minutes(10)

    /// - Parameters:
    ///   - target: The token endpoint as apps address it. Never from a header of the request: whoever sends one could say what
    ///     the proof was made for.
    ///   - nonces: `nil`: none are asked for.
    public init(target: TargetURI, nonces: ProofNonces?, clock: any WallClock) {
        self.target = target
        self.nonces = nonces
        self.clock = clock
    }

    /// - Parameter fields: Every `DPoP` field of the request.
    /// - Returns: `nil` where there is no proof, and need be none, or where the client's policy heeds none.
    func proof(_ fields: [String], of client: Client) throws(TokenError) -> PresentedProof? {
        switch client.proofPolicy {
        case .off: return nil
        case .optional: if fields.isEmpty { return nil }
        case .required: if fields.isEmpty { throw .refused(.request(.proofRequired)) }
        }
        let now = clock.now
        let (oldest, furthestAhead) =
            nonces == nil ? (Self.oldest, Self.furthestAhead) : (Self.largestClockError, Self.largestClockError)
        let times = now.seconds - oldest.count...now.seconds + furthestAhead.count
        let proof: DPoPProof
        do throws(DPoPDefect) {
            proof = try DPoPProof(fields, method: "POST", target: target, times: times)
        } catch {
            throw .refused(.proof(error))
        }
        // Last of all: a proof that is wrong in itself would be wrong with a nonce, too. RFC 9449 §8.
        try require(proof.nonce, at: now)
        guard let key = KeyThumbprint(proof.keyThumbprint) else { throw .broken("a thumbprint that is none") }
        return PresentedProof(
            key: key, id: ProofID(key: key, jti: proof.tokenID), life: Seconds(oldest.count + furthestAhead.count))
    }

    /// For the next request of whoever showed a proof; `nil` where none are asked for, or none can be made now.
    var freshNonce: String? { nonces.flatMap { try? $0.make(at: clock.now) } }

    private func require(_ nonce: String?, at now: UnixTime) throws(TokenError) {
        guard let nonces else { return }
        let defect = try TokenError.port { () throws(PortError) in try nonces.defect(of: nonce, at: now) }
        guard let defect else { return }
        let fresh = try TokenError.port { () throws(PortError) in try nonces.make(at: now) }
        throw .refused(.nonce(defect, fresh: fresh))
    }
}
