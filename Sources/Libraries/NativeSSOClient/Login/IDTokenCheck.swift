import OAuthWire
import StrictCoding

/// What an app asks of the id_token that a token endpoint just gave it, OpenID Connect Core §3.1.3.7.
///
/// Not checked: the signature. The token came from the provider itself over a TLS connection that the app opened, which
/// §3.1.3.7, item 6, takes in its place. The broker verifies the signature before it believes anything.
enum IDTokenCheck {
    /// - Parameter issuer: Whose token it must be: that of the provider, or of a broker that redeemed the code.
    static func check(
        _ idToken: String, of attempt: LoginAttempt, from issuer: String, at now: Int64
    ) throws(ClientError) {
        let segments = idToken.split(separator: ".", omittingEmptySubsequences: false)
        guard segments.count == 3, let payload = Base64URL.decode(segments[1].utf8),
            let claims = (try? JSONReader.parse(payload))?.object
        else { throw .untrustedIDToken(.malformed) }
        guard claims.string("iss")?.hasSameOctets(as: issuer) == true else {
            throw .untrustedIDToken(.otherIssuer)
        }
        let audience = claims.string("aud").map { [$0] } ?? claims.strings("aud") ?? []
        guard audience.count == 1, audience[0].hasSameOctets(as: attempt.clientID) else {
            throw .untrustedIDToken(.otherAudience)
        }
        guard claims.string("nonce")?.hasSameOctets(as: attempt.nonce) == true else {
            throw .untrustedIDToken(.otherNonce)
        }
        guard let expiry = claims.number("exp")?.wholeSeconds, now - leeway < expiry else {
            throw .untrustedIDToken(.expired)
        }
    }

    /// Clocks of phones are off. Seconds.
    private static let leeway: Int64 = 300
}
