import Synchronization

/// The proofs for one token endpoint, with the nonce that it gave last.
final class EndpointProofs: Sendable {
    private let prover: DPoPProver
    private let nonce = Mutex<String?>(nil)

    init(_ prover: DPoPProver) {
        self.prover = prover
    }

    func proof(for address: String) async throws(ClientError) -> String {
        do {
            return try await prover.proof("POST", address, nonce: nonce.withLock { $0 })
        } catch {
            throw .proofKey(error)
        }
    }

    /// RFC 9449 §8.2: any answer may hold a new one.
    func note(_ answer: TransportResponse) {
        if let fresh = answer.dpopNonce { nonce.withLock { $0 = fresh } }
    }
}
