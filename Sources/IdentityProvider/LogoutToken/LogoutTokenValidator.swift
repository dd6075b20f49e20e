public import JOSE
public import NativeSSO

/// Verifies logout tokens of the configured identity providers. OpenID Connect Back-Channel Logout 1.0 §2.6.
public struct LogoutTokenValidator: LogoutTokenVerifier {
    /// One identity provider.
    public struct Provider: Sendable {
        public let keys: ProviderKeys
        /// Those of its id_tokens: §2.6 asks for the same.
        public let algorithms: Set<SignatureAlgorithm>
        public let policy: LogoutPolicy

        public init(keys: ProviderKeys, algorithms: Set<SignatureAlgorithm>, policy: LogoutPolicy) {
            self.keys = keys
            self.algorithms = algorithms
            self.policy = policy
        }
    }

    private let providers: [Issuer: Provider]

    public init(_ providers: [Provider]) {
        self.providers = Dictionary(providers.map { ($0.keys.issuer, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// 1. Compact form, sizes, and a header without dangerous parameters.
    /// 2. `iss` is a configured provider, `alg` is on its list, `typ` is `logout+jwt` (§2.4; RFC 8725 §3.11).
    /// 3. A key that is in the provider's key set now verifies the signature: this is said now, so a key that has left the
    ///    set says nothing any more.
    /// 4. The claims are those of a logout token: ``LogoutTokenClaims/init(_:issuer:policy:at:)``.
    public func verify(_ token: LogoutToken, at now: UnixTime) async throws(LogoutError) -> LogoutTokenClaims {
        let (token, provider) = try parse(token)
        let verified = try await verified(token, by: provider.keys)
        do throws(LogoutRefusal) {
            return try LogoutTokenClaims(verified, issuer: provider.keys.issuer, policy: provider.policy, at: now)
        } catch {
            throw .refused(error)
        }
    }

    private func parse(_ token: LogoutToken) throws(LogoutError) -> (CompactJWS, Provider) {
        let jws: CompactJWS
        do throws(JWSError) {
            jws = try CompactJWS(token.octets)
        } catch {
            throw .refused(LogoutRefusal(SubjectTokenDefect(error)))
        }
        guard let provider = jws.unverifiedIssuer.flatMap(Issuer.init).flatMap({ providers[$0] }) else {
            throw .refused(.issuer)
        }
        do throws(JWSError) {
            try jws.requireAlgorithm(among: provider.algorithms)
            guard isLogoutType(jws.header, provider.policy) else { throw .wrongType }
        } catch {
            throw .refused(LogoutRefusal(SubjectTokenDefect(error)))
        }
        return (jws, provider)
    }

    private func isLogoutType(_ header: JOSEHeader, _ policy: LogoutPolicy) -> Bool {
        header.hasType("logout+jwt") || policy.allowsJWTType && (header.type == nil || header.hasType("JWT"))
    }

    private func verified(_ token: CompactJWS, by keys: ProviderKeys) async throws(LogoutError) -> VerifiedJWS {
        do throws(IDTokenVerificationError) {
            return try await keys.verify(token, with: .current).token
        } catch {
            switch error {
            case .refused(let defect): throw .refused(LogoutRefusal(defect))
            case .outage(let outage): throw .outage(outage)
            }
        }
    }
}

extension LogoutRefusal {
    /// The same defect of form, header, key or signature, in the words of a logout token.
    fileprivate init(_ defect: SubjectTokenDefect) {
        switch defect {
        case .headerRefused: self = .headerRefused
        case .wrongType: self = .wrongType
        case .algorithmNotAllowed: self = .algorithmNotAllowed
        case .unknownKey: self = .unknownKey
        case .keyRetired: self = .keyRetired
        case .keyRevoked: self = .keyRevoked
        case .badSignature: self = .badSignature
        // The rest is about claims, of which nobody has spoken yet.
        default: self = .malformed
        }
    }
}
