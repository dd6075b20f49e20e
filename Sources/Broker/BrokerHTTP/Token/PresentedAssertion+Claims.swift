import JOSE
import NativeSSO
import StrictCoding

/// An assertion that shows who its client is, as long as it is its first use: RFC 7523 §3, OpenID Connect Core §9.
extension PresentedAssertion {
    /// Clock difference between client and broker.
    static let skew: Seconds = 60
    /// An assertion is made for one request. RFC 7523 §3, 4 lets us refuse what is good for unreasonably long.
    static let longestLife: Seconds = .minutes(5)
    /// Octets of a `jti`.
    private static let longestID = 255

    /// The claims, in the order in which RFC 7523 §3 has them.
    ///
    /// - Parameters:
    ///   - client: Whose key verified the token.
    ///   - issuer: Ours. The token endpoint's address is no audience, and neither is anything beside us: an assertion that
    ///     another server may also take could be passed on (RFC 7523bis §3).
    init(_ token: VerifiedJWS, of client: ClientID, at issuer: Issuer, now: UnixTime) throws(ClientRefusal) {
        let claims = token.claims
        guard claims.string("iss")?.hasSameOctets(as: client.string) == true else { throw .assertionIssuer }
        guard claims.string("sub")?.hasSameOctets(as: client.string) == true else { throw .assertionSubject }
        let audience = claims.string("aud").map { [$0] } ?? claims.strings("aud")
        guard let audience, audience.count == 1, audience[0].hasSameOctets(as: issuer.string) else {
            throw .assertionAudience
        }
        let until = try Self.expiry(claims, at: now).adding(Self.skew)
        // OpenID Connect Core §9: required.
        guard let jti = claims.string("jti"), (1...Self.longestID).contains(jti.utf8.count) else { throw .assertionID }
        self.init(id: AssertionID(client: client, jti: jti), until: until)
    }

    /// `exp`, which is required, still to come and not far ahead; `nbf` and `iat` are past, where they are given.
    private static func expiry(_ claims: JSONObject, at now: UnixTime) throws(ClientRefusal) -> UnixTime {
        let latestNow = now.adding(skew)
        guard let expiry = time("exp", of: claims), now < expiry.adding(skew),
            expiry <= latestNow.adding(longestLife)
        else { throw .assertionExpiry }
        if claims.contains("nbf") {
            guard let notBefore = time("nbf", of: claims), notBefore <= latestNow else { throw .assertionNotBefore }
        }
        if claims.contains("iat") {
            guard let issuedAt = time("iat", of: claims), issuedAt <= latestNow else { throw .assertionIssuedAt }
            guard expiry <= issuedAt.adding(longestLife) else { throw .assertionExpiry }
        }
        return expiry
    }

    private static func time(_ name: String, of claims: JSONObject) -> UnixTime? {
        claims.number(name)?.wholeSeconds.map(UnixTime.init(seconds:))
    }
}
