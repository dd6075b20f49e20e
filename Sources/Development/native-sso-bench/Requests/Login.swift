import Crypto
import StrictCoding

/// One login at the identity provider.
struct Login: Sendable {
    let sid: String
    let subject: String
    /// The `device_id` of the device that it was made on.
    let device: String

    /// A login unknown to the broker.
    static func new() -> Login {
        Login(sid: unguessable(), subject: "user-" + unguessable(), device: unguessable())
    }

    /// The user of a login, derived from its session.
    static func subject(of sid: String) -> String { "user-" + sid }

    /// 22 base64url characters: 128 bits.
    private static func unguessable() -> String {
        var generator = SystemRandomNumberGenerator()
        let (a, b) = (generator.next() as UInt64, generator.next() as UInt64)
        return Base64URL.encode(withUnsafeBytes(of: (a, b)) { Array($0) })
    }

    /// The claims of its id_token.
    func claims(at now: Int64) -> JSONObject {
        var claims = JSONObject()
        claims["iss"] = .string(SampleApps.issuer)
        claims["sub"] = .string(subject)
        claims["aud"] = .string(SampleApps.source)
        claims["iat"] = .number(JSONNumber(now))
        claims["exp"] = .number(JSONNumber(now + 86_400))
        claims["auth_time"] = .number(JSONNumber(now))
        claims["sid"] = .string(sid)
        claims["di_hash"] = .string(Base64URL.encode(Array(SHA256.hash(data: Array(device.utf8)))[..<16]))
        return claims
    }
}
