public import JOSE
import StrictCoding

/// Verifies access tokens of several issuers: the broker's, and those that an identity provider issues itself.
///
/// `iss` of the token only selects one of the verifiers given here, which then verifies the token as a whole.
public struct TokenVerifierSet: Sendable {
    private let verifiers: [TokenVerifier]

    /// - Parameter verifiers: One for each issuer. Give all but the broker's a `subjectPrefix`, or the identity
    ///   provider without one its `reservedPrefixes`: otherwise two issuers can name different users alike.
    public init(_ verifiers: [TokenVerifier]) { self.verifiers = verifiers }

    /// Loads the keys of every issuer.
    public func prepare() async {
        for verifier in verifiers { await verifier.prepare() }
    }

    /// See ``TokenVerifier/verify(_:audience:leeway:)``.
    public func verify(
        _ token: String, audience: String, leeway: Duration = .seconds(5)
    ) async throws(VerificationError) -> AccessTokenClaims {
        var token = PresentedToken(token)
        return try await verifier(of: &token).verify(token, audience: audience, leeway: leeway)
    }

    /// See ``TokenVerifier/verify(_:proofs:method:target:audience:leeway:)``.
    public func verify(
        _ token: String, proofs: [String], method: String, target: TargetURI, audience: String,
        leeway: Duration = .seconds(5)
    ) async throws(VerificationError) -> (claims: AccessTokenClaims, proof: DPoPProof) {
        var token = PresentedToken(token)
        return try await verifier(of: &token).verify(
            token, proofs: proofs, method: method, target: target, audience: audience, leeway: leeway)
    }

    private func verifier(of token: inout PresentedToken) throws(VerificationError) -> TokenVerifier {
        // The only one refuses a foreign token itself, with the right reason.
        if verifiers.count == 1 { return verifiers[0] }
        guard let issuer = try token.issuer(),
            let verifier = verifiers.first(where: { $0.issuer.hasSameOctets(as: issuer) })
        else { throw VerificationError(.wrongIssuer) }
        return verifier
    }
}
