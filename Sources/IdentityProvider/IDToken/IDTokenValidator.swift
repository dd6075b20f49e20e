public import JOSE
public import NativeSSO

/// Verifies id_tokens of the configured identity providers. What it checks, and in which order, is written at
/// ``verify(_:from:at:)``; what it leaves to others, at the protocol.
public struct IDTokenValidator: IDTokenVerifier {
    /// One identity provider.
    public struct Provider: Sendable {
        public let keys: ProviderKeys
        /// The signatures that this issuer may use (RFC 8725 §3.1). Configured, never learned from a token or from metadata.
        public let algorithms: Set<SignatureAlgorithm>

        public init(keys: ProviderKeys, algorithms: Set<SignatureAlgorithm>) {
            self.keys = keys
            self.algorithms = algorithms
        }
    }

    private let providers: [Issuer: Provider]

    public init(_ providers: [Provider]) {
        self.providers = Dictionary(providers.map { ($0.keys.issuer, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// 1. Compact form, sizes, and a header without dangerous parameters (RFC 7515 §7.1, §4.1.11; RFC 8725 §3.6).
    /// 2. `alg` is on the issuer's list, `typ` is absent or `JWT` (RFC 8725 §3.1, §3.11).
    /// 3. A key of this issuer fits and verifies the signature (RFC 8725 §3.2–§3.4, §3.8).
    /// 4. The claims are those of an id_token: ``IDTokenClaims/init(_:issuer:at:)``.
    public func verify(
        _ subjectToken: SubjectToken, from issuer: Issuer, at now: UnixTime
    ) async throws(IDTokenVerificationError) -> IDTokenClaims {
        guard let provider = providers[issuer] else { throw .refused(.issuerMismatch) }
        let token = try parse(subjectToken, for: provider)
        let verified = try await provider.keys.verify(token)
        return try claims(of: verified, issuer, at: now)
    }

    private func parse(
        _ subjectToken: SubjectToken, for provider: Provider
    ) throws(IDTokenVerificationError) -> CompactJWS {
        do throws(JWSError) {
            let token = try CompactJWS(subjectToken.octets)
            try token.requireAlgorithm(among: provider.algorithms)
            guard token.header.type == nil || token.header.hasType("JWT") else { throw .wrongType }
            return token
        } catch {
            throw .refused(SubjectTokenDefect(error))
        }
    }

    private func claims(
        of token: VerifiedJWS, _ issuer: Issuer, at now: UnixTime
    ) throws(IDTokenVerificationError) -> IDTokenClaims {
        do throws(SubjectTokenDefect) {
            return try IDTokenClaims(token, issuer: issuer, at: now)
        } catch {
            throw .refused(error)
        }
    }
}
