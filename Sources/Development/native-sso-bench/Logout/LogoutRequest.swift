import BrokerTesting
import OAuthWire
import StrictCoding

/// What an identity provider sends when a user is logged out everywhere. OpenID Connect Back-Channel Logout 1.0 §2.4, §2.5.
enum LogoutRequest {
    static func endingAll(of subject: String, key: TestKey, at now: Int64) throws -> [UInt8] {
        var events = JSONObject()
        events["http://schemas.openid.net/event/backchannel-logout"] = .object(JSONObject())
        var claims = JSONObject()
        claims["iss"] = .string(SampleApps.issuer)
        claims["aud"] = .string(SampleApps.source)
        claims["sub"] = .string(subject)
        claims["iat"] = .number(JSONNumber(now))
        claims["exp"] = .number(JSONNumber(now + 120))
        claims["jti"] = .string(Login.new().sid)
        claims["events"] = .object(events)
        let token = try key.sign(claims: claims, type: "logout+jwt")
        let form = FormEncoder.encode([Parameter.logoutToken: token])
        return TokenRequest.head("/backchannel-logout", bodyLength: form.count) + form
    }
}
