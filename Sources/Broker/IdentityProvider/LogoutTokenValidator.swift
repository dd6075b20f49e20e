package import JOSE
package import NativeSSO
import StrictCoding

/// Verifies logout tokens of the configured IdPs. OpenID Connect Back-Channel Logout 1.0 §2.6.
package struct LogoutTokenValidator: LogoutTokenVerifier {
    package struct Provider: Sendable {
        package let keys: ProviderKeys
        /// The same as for its id_tokens, as §2.6 requires.
        package let algorithms: Set<SignatureAlgorithm>
        package let policy: LogoutPolicy

        package init(keys: ProviderKeys, algorithms: Set<SignatureAlgorithm>, policy: LogoutPolicy) {
            self.keys = keys
            self.algorithms = algorithms
            self.policy = policy
        }
    }

    private let providers: [Issuer: Provider]

    package init(_ providers: [Provider]) {
        self.providers = Dictionary(providers.map { ($0.keys.issuer, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// 1. Compact form, sizes, and a header without dangerous parameters.
    /// 2. `iss` is a configured IdP, `alg` is on its list, `typ` is `logout+jwt` (§2.4; RFC 8725 §3.11).
    /// 3. A key of the IdP's current key set verifies the signature. Retired keys do not count, because a logout is
    ///    current.
    /// 4. The claims are those of a logout token: ``LogoutTokenClaims/init(_:issuer:policy:at:)``.
    package func verify(_ token: LogoutToken, at now: UnixTime) async throws(LogoutError) -> LogoutTokenClaims {
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
    /// Maps a defect of form, header, key or signature to that of a logout token.
    fileprivate init(_ defect: SubjectTokenDefect) {
        switch defect {
        case .headerRefused: self = .headerRefused
        case .wrongType: self = .wrongType
        case .algorithmNotAllowed: self = .algorithmNotAllowed
        case .unknownKey: self = .unknownKey
        case .keyRetired: self = .keyRetired
        case .keyRevoked: self = .keyRevoked
        case .badSignature: self = .badSignature
        // The other defects concern claims, which are not read yet.
        default: self = .malformed
        }
    }
}

/// Validates the claims of a logout token: OpenID Connect Back-Channel Logout 1.0 §2.4 and §2.6.
extension LogoutTokenClaims {
    /// Tolerated clock difference between issuer and broker.
    static let skew: Seconds = 60
    /// The maximum lifetime of a logout token, and its maximum age if it has no `exp`. §4 recommends at most two
    /// minutes.
    static let longestLife: Seconds = .minutes(5)

    /// The member of `events` that identifies a logout token. §2.4.
    static let event = "http://schemas.openid.net/event/backchannel-logout"

    init(_ token: VerifiedJWS, issuer: Issuer, policy: LogoutPolicy, at now: UnixTime) throws(LogoutRefusal) {
        let claims = token.claims
        // The unverified claims only selected the key.
        guard claims.string("iss")?.hasSameOctets(as: issuer.string) == true else { throw .issuer }
        // First the claims that differ from an id_token's, because some IdPs use the same `typ` for both.
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

    /// In octets.
    private static let longestTokenID = 255

    /// Checks `exp` and `nbf`, and returns `iat`. Refuses a long lifetime even if the IdP sets one: a stolen token
    /// would stay useful.
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

    /// `sid`, `sub` or both; each one present must be valid.
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
        guard let user else { throw .subjectMissing }
        return .user(user)
    }
}
