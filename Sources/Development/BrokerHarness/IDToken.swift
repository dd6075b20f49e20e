package import BrokerTesting
import Crypto
import Glibc
package import StrictCoding

/// An id_token in the making: every part of it can be bent before it is signed.
package struct IDToken: Sendable {
    package var header: JSONObject
    package var claims: JSONObject
    package var key: TestKey
    /// Rewrites the JSON texts just before they are signed, for what no JSON writer would write.
    package var rewritesHeader: @Sendable (String) -> String = { $0 }
    package var rewritesClaims: @Sendable (String) -> String = { $0 }
    /// Rewrites the finished token.
    package var rewritesToken: @Sendable (String) -> String = { $0 }

    /// A good one: a login of a minute ago, on `device`.
    package init(issuer: String, client: String, subject: String, sid: String, device: String, key: TestKey) {
        self.key = key
        header = key.header()
        let now = Int64(time(nil))
        let hash = JSONValue.string(Self.leftHalfHash(device))
        claims = JSONObject([
            "iss": .string(issuer), "sub": .string(subject), "aud": .string(client),
            "iat": .number(JSONNumber(now - 60)), "exp": .number(JSONNumber(now + 3600)),
            "auth_time": .number(JSONNumber(now - 70)), "sid": .string(sid), "di_hash": hash, "ds_hash": hash,
        ])
    }

    package func signed() throws -> String {
        let header = rewritesHeader(Self.text(of: header))
        let claims = rewritesClaims(Self.text(of: claims))
        return rewritesToken(try key.sign(header: header, payload: claims))
    }

    /// OpenID Connect Core §3.1.3.6 for an `alg` that ends in 256.
    package static func leftHalfHash(_ value: String) -> String {
        Base64URL.encode(Array(SHA256.hash(data: Array(value.utf8)))[..<16])
    }

    private static func text(of object: JSONObject) -> String {
        String(decoding: object.octets, as: UTF8.self)
    }
}

/// Random, unguessable values for devices and sessions.
package enum Unguessable {
    /// 43 base64url characters.
    package static func make() -> String {
        var generator = SystemRandomNumberGenerator()
        return Base64URL.encode((0..<32).map { _ in UInt8.random(in: 0...255, using: &generator) })
    }
}
