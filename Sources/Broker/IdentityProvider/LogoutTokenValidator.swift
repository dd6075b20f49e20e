public import JOSE
public import NativeSSO
import StrictCoding

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

/// The rules of OpenID Connect Back-Channel Logout 1.0 §2.4 and §2.6 for the claims of a logout token.
extension LogoutTokenClaims {
    /// Clock difference between issuer and broker.
    static let skew: Seconds = 60
    /// The longest life of a logout token, and its greatest age where it has no `exp`. §4 recommends two minutes at most.
    static let longestLife: Seconds = .minutes(5)

    /// The member of `events` that makes a logout token one. §2.4.
    static let event = "http://schemas.openid.net/event/backchannel-logout"

    init(_ token: VerifiedJWS, issuer: Issuer, policy: LogoutPolicy, at now: UnixTime) throws(LogoutRefusal) {
        let claims = token.claims
        // What the unverified token said was only used to find the key.
        guard claims.string("iss")?.hasSameOctets(as: issuer.string) == true else { throw .issuer }
        // First what tells it from an id_token, of which some providers give it the type.
        guard claims.object("events")?.object(Self.event) != nil else { throw .events }
        guard !claims.contains("nonce") else { throw .nonce }
        guard let audience = claims.audience, !audience.isEmpty else { throw .audience }
        let issuedAt = try Self.times(claims, policy, at: now)
        let subject = try Self.subject(claims, policy)
        guard let tokenID = claims.string("jti"), (1...Self.longestTokenID).contains(tokenID.utf8.count) else {
            throw .tokenID
        }
        self.init(
            issuer: issuer, subject: subject, audience: audience, issuedAt: issuedAt, tokenID: tokenID,
            refusedAfter: issuedAt.adding(Self.longestLife).adding(Self.skew))
    }

    /// Octets.
    private static let longestTokenID = 255

    /// `iat`, after `exp` and `nbf` were found to be in order. A long life would make a stolen token worth keeping, so there is
    /// none, whatever the provider writes.
    private static func times(
        _ claims: JSONObject, _ policy: LogoutPolicy, at now: UnixTime
    ) throws(LogoutRefusal) -> UnixTime {
        let latest = now.adding(skew)
        guard let issuedAt = claims.time("iat"), issuedAt <= latest,
            now.since(issuedAt) <= Seconds(longestLife.count + skew.count)
        else { throw .issuedAt }
        if claims.contains("exp") || !policy.allowsMissingExpiry {
            guard let expiresAt = claims.time("exp"), expiresAt > issuedAt, now < expiresAt.adding(skew),
                expiresAt.since(issuedAt) <= longestLife
            else { throw .expiry }
        }
        if claims.contains("nbf") {
            guard let notBefore = claims.time("nbf"), notBefore <= latest else { throw .notBefore }
        }
        return issuedAt
    }

    /// `sid`, `sub` or both; whichever is there must hold.
    private static func subject(
        _ claims: JSONObject, _ policy: LogoutPolicy
    ) throws(LogoutRefusal) -> LogoutSubject {
        var user: Subject?
        if claims.contains("sub") {
            guard let subject = claims.string("sub").flatMap(Subject.init) else { throw .subject }
            user = subject
        }
        if claims.contains("sid") {
            guard let sessionID = claims.string("sid").flatMap(SessionID.init) else { throw .sessionID }
            return LogoutSubject(sessionID, of: user, reach: policy.reach)
        }
        guard let user else { throw .nobody }
        return .user(user)
    }
}
