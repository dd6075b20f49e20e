import JOSE
import NativeSSO
package import StrictCoding

/// A DPoP proof in the making, RFC 9449 §4.2: every part of it can be bent before it is signed.
package struct TestProof: Sendable {
    package var key: TestKey
    package var header: JSONObject
    package var claims: JSONObject
    /// Rewrites the finished token.
    package var rewritesToken: @Sendable (String) -> String = { $0 }

    /// A good one, for one POST.
    /// - Parameter now: Seconds since 1970.
    package init(by key: TestKey, for target: String, at now: Int64, nonce: String? = nil) {
        self.key = key
        header = JSONObject([
            "typ": .string("dpop+jwt"), "alg": .string(key.algorithm.rawValue), "jwk": .object(Self.jwk(of: key)),
        ])
        claims = JSONObject([
            "jti": .string(UniqueID.random().description), "htm": .string("POST"), "htu": .string(target),
            "iat": .number(JSONNumber(now)), "nonce": nonce.map { .string($0) },
        ])
    }

    /// The value of the `DPoP` field.
    package func signed() throws -> String { rewritesToken(try key.sign(header: header, payload: claims)) }

    /// The key's public half, and no more than that.
    package static func jwk(of key: TestKey) -> JSONObject {
        var jwk = key.publicKey.json
        for name in ["use", "alg", "kid"] { jwk[name] = nil }
        return jwk
    }

    /// `jkt` of a key.
    package static func thumbprint(of key: TestKey) -> String { Base64URL.encode(key.publicKey.thumbprint) }
}
