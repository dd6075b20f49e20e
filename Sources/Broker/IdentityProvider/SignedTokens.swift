package import JOSE
package import NativeSSO
import StrictCoding

/// A configured signer of tokens that end sessions.
package struct TrustedSigner<Policy: Sendable>: Sendable {
    /// `iss` of its tokens.
    package let issuer: Issuer
    package let keys: ProviderKeys
    package let algorithms: Set<SignatureAlgorithm>
    package let policy: Policy

    package init(issuer: Issuer, keys: ProviderKeys, algorithms: Set<SignatureAlgorithm>, policy: Policy) {
        self.issuer = issuer
        self.keys = keys
        self.algorithms = algorithms
        self.policy = policy
    }
}

/// The refusals of a token that ends a session, before its claims are read. The cases of an enum are its members.
protocol SignedTokenRefusal: Error {
    static var headerRefused: Self { get }
    static var wrongType: Self { get }
    static var algorithmNotAllowed: Self { get }
    static var unknownKey: Self { get }
    static var keyRetired: Self { get }
    static var keyRevoked: Self { get }
    static var badSignature: Self { get }
    static var issuer: Self { get }
    static var malformed: Self { get }
}

extension SignedTokenRefusal {
    fileprivate init(_ defect: SubjectTokenDefect) {
        switch defect {
        case .headerRefused: self = .headerRefused
        case .wrongType: self = .wrongType
        case .algorithmNotAllowed: self = .algorithmNotAllowed
        case .unknownKey: self = .unknownKey
        case .keyRetired: self = .keyRetired
        case .keyRevoked: self = .keyRevoked
        case .badSignature: self = .badSignature
        case .issuerMismatch: self = .issuer
        // The other defects concern claims, which are not read yet.
        default: self = .malformed
        }
    }
}

/// Verifies tokens that end sessions: logout tokens, revocation JWTs and security event tokens.
struct SignedTokens<Policy: Sendable>: Sendable {
    private let signers: [Issuer: TrustedSigner<Policy>]

    init(_ signers: [TrustedSigner<Policy>]) {
        self.signers = Dictionary(signers.map { ($0.issuer, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// 1. Compact form, sizes, and a header without dangerous parameters.
    /// 2. `iss` is a configured signer, `alg` is on its list, `typ` is right.
    /// 3. A key of the signer's current key set verifies the signature. Retired keys do not count, because the end is
    ///    current.
    /// 4. `iss` of the signed claims is the signer. The unverified claim only selected the key.
    /// 5. The claims are what `read` expects.
    func verify<Refusal: SignedTokenRefusal, Value>(
        _ token: LogoutToken, type isRight: (JOSEHeader, Policy) -> Bool,
        _ read: (VerifiedJWS, TrustedSigner<Policy>) throws(Refusal) -> Value
    ) async throws(GrantError<Refusal>) -> Value {
        let verified: VerifiedJWS
        let signer: TrustedSigner<Policy>
        do throws(IDTokenVerificationError) {
            let jws: CompactJWS
            (jws, signer) = try parse(token, isRight)
            verified = try await signer.keys.verify(jws, with: .current).token
            guard verified.claims.string("iss")?.hasSameOctets(as: signer.issuer.string) == true else {
                throw .refused(.issuerMismatch)
            }
        } catch {
            switch error {
            case .refused(let defect): throw .refused(Refusal(defect))
            case .outage(let outage): throw .outage(outage)
            }
        }
        do throws(Refusal) {
            return try read(verified, signer)
        } catch {
            throw .refused(error)
        }
    }

    private func parse(
        _ token: LogoutToken, _ isRight: (JOSEHeader, Policy) -> Bool
    ) throws(IDTokenVerificationError) -> (CompactJWS, TrustedSigner<Policy>) {
        do throws(JWSError) {
            var jws = try CompactJWS(token.octets)
            guard let signer = jws.readIssuer().flatMap(Issuer.init).flatMap({ signers[$0] }) else {
                throw .unknownKey
            }
            try jws.requireAlgorithm(among: signer.algorithms)
            guard isRight(jws.header, signer.policy) else { throw .wrongType }
            return (jws, signer)
        } catch {
            // No key was looked for yet: the issuer is unknown.
            throw .refused(error == .unknownKey ? .issuerMismatch : SubjectTokenDefect(error))
        }
    }
}
