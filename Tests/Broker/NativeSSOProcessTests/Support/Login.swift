import BrokerTesting
import Foundation
import JOSE
import NativeSSO
import StrictCoding
import Testing

/// What app 1 has after a login at the identity provider: an id_token and the device secret it is bound to.
struct Login: Sendable {
    let idToken: String
    let deviceSecret: String

    init(
        _ installation: Installation, sid: String, sub: String = "user-1", client: String = "app1", key: TestKey? = nil
    )
        throws
    {
        deviceSecret = Base64URL.encode((0..<32).map { _ in UInt8.random(in: 0...255) })
        let device = try #require(DeviceValue(deviceSecret, profile: .deviceSecret))
        let now = Int64(Date().timeIntervalSince1970)
        var claims = JSONObject()
        claims["iss"] = .string(Installation.identityProvider)
        claims["sub"] = .string(sub)
        claims["aud"] = .string(client)
        claims["sid"] = .string(sid)
        claims["iat"] = .number(JSONNumber(now - 5))
        claims["exp"] = .number(JSONNumber(now + 3600))
        claims["ds_hash"] = .string(device.hash(function: .sha256))
        idToken = try (key ?? installation.identityProviderKey).sign(claims: claims)
    }

    /// The form of an exchange by `client`.
    func exchange(by client: String, scope: String? = nil) -> [(String, String)] {
        [
            ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"), ("client_id", client),
            ("audience", Installation.identityProvider), ("subject_token", idToken),
            ("subject_token_type", "urn:ietf:params:oauth:token-type:id_token"),
            ("actor_token", deviceSecret),
            ("actor_token_type", "urn:openid:params:token-type:device-secret"),
        ] + (scope.map { [("scope", $0)] } ?? [])
    }

    static func refresh(_ token: String, by client: String) -> [(String, String)] {
        [("grant_type", "refresh_token"), ("refresh_token", token), ("client_id", client)]
    }
}
