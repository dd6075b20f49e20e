public import JOSE

extension TokenVerifier {
    /// Clock differences allowed on a proof, in seconds: how old it may be, and how far ahead the clock of the device.
    private static let oldestProof: Int64 = 60
    private static let furthestAhead: Int64 = 30

    /// Verifies an access token that came as `Authorization: DPoP …`, and the proof that its sender holds the key that the token
    /// is bound to. RFC 9449 §7.1.
    ///
    /// Does not check, beyond what ``verify(_:audience:leeway:)`` leaves out: whether the proof was used before. A server for
    /// which that matters remembers the `jti` of each proof together with its key for 90 seconds (§11.1).
    /// - Parameters:
    ///   - proofs: Every `DPoP` field of the request.
    ///   - target: Of the request as its sender addressed it, never from a field that the sender may write.
    ///   - audience: The name of this resource server; one of `aud`, octet by octet.
    public func verify(
        _ token: String, proofs: [String], method: String, target: TargetURI, audience: String,
        leeway: Duration = .seconds(5)
    ) async throws(VerificationError) -> (claims: AccessTokenClaims, proof: DPoPProof) {
        let claims = try await claims(of: token, audience: audience, leeway: leeway)
        // A token that is bound to no key is a bearer token, and comes as one.
        guard let thumbprint = claims.proofKeyThumbprint else { throw VerificationError(.notSenderConstrained) }
        let now = now()
        do throws(DPoPDefect) {
            let proof = try DPoPProof(
                proofs, method: method, target: target, times: now - Self.oldestProof...now + Self.furthestAhead)
            try proof.requireAccessToken(token, boundTo: thumbprint)
            return (claims, proof)
        } catch {
            throw VerificationError(.invalidProof)
        }
    }
}
