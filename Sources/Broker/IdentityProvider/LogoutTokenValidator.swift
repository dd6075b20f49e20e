import JOSE
package import NativeSSO
import StrictCoding

/// Verifies logout tokens of the configured IdPs. OpenID Connect Back-Channel Logout 1.0 §2.6.
package struct LogoutTokenValidator: LogoutTokenVerifier {
    private let tokens: SignedTokens<LogoutPolicy>

    /// - Parameter providers: With the algorithms of their id_tokens, as §2.6 requires.
    package init(_ providers: [TrustedSigner<LogoutPolicy>]) { tokens = SignedTokens(providers) }

    /// 1. What ``SignedTokens`` checks; `typ` is `logout+jwt` (§2.4; RFC 8725 §3.11).
    /// 2. The claims are those of a logout token: ``LogoutTokenClaims/init(_:issuer:policy:at:)``.
    package func verify(_ token: LogoutToken, at now: UnixTime) async throws(LogoutError) -> LogoutTokenClaims {
        try await tokens.verify(token, type: isLogoutType) {
            (verified, signer) throws(LogoutRefusal) in
            try LogoutTokenClaims(verified, issuer: signer.issuer, policy: signer.policy, at: now)
        }
    }

    private func isLogoutType(_ header: JOSEHeader, _ policy: LogoutPolicy) -> Bool {
        header.hasType("logout+jwt") || policy.allowsJWTType && (header.type == nil || header.hasType("JWT"))
    }
}

extension LogoutRefusal: SignedTokenRefusal {}

/// Validates the claims of a logout token: OpenID Connect Back-Channel Logout 1.0 §2.4 and §2.6.
extension LogoutTokenClaims {
    /// The maximum lifetime of a logout token, and its maximum age if it has no `exp`. §4 recommends at most two
    /// minutes.
    static let longestLife: Seconds = .minutes(5)

    /// The member of `events` that identifies a logout token. §2.4.
    static let event = "http://schemas.openid.net/event/backchannel-logout"

    /// - Parameter issuer: `iss` of the token, which was compared already.
    init(_ token: VerifiedJWS, issuer: Issuer, policy: LogoutPolicy, at now: UnixTime) throws(LogoutRefusal) {
        let claims = token.claims
        // First the claims that differ from an id_token's, because some IdPs use the same `typ` for both.
        guard claims.object("events")?.object(Self.event) != nil else { throw .events }
        guard !claims.contains("nonce") else { throw .nonce }
        guard let audience = claims.audience, !audience.isEmpty else { throw .audience }
        guard let issuedAt = claims.issuedAt(within: Self.longestLife, before: now) else { throw .issuedAt }
        // Refuses a long lifetime even if the IdP sets one: a stolen token would stay useful.
        guard
            policy.allowsMissingExpiry && !claims.contains("exp")
                || claims.expiresAt(within: Self.longestLife, after: issuedAt, at: now) != nil
        else { throw .expiry }
        guard claims.hasBegun(at: now) else { throw .notBefore }
        let subject = try Self.subject(claims, policy)
        guard let tokenID = claims.tokenID else { throw .tokenID }
        self.init(
            ProviderSignal(
                cause: .logoutToken, issuer: issuer, subject: subject, effectiveAt: issuedAt, signer: issuer,
                tokenID: tokenID, refusedAfter: issuedAt.adding(Self.longestLife).adding(skew)),
            audience: audience)
    }

    /// `sid`, `sub` or both; each one present must be valid.
    private static func subject(_ claims: JSONObject, _ policy: LogoutPolicy) throws(LogoutRefusal) -> LogoutSubject {
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
