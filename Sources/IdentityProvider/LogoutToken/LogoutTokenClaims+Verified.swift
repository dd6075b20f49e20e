import JOSE
import NativeSSO
import StrictCoding

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
