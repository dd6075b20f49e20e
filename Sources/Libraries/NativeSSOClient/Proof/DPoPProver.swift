import Crypto
public import OAuthWire
import StrictCoding

/// Makes proofs that a request comes from whoever holds a key: the `DPoP` field of RFC 9449 §4.
public struct DPoPProver: Sendable {
    private let key: any ProofKey
    /// base64url of the JOSE header, which never changes.
    private let header: String
    private let now: @Sendable () -> Int64

    /// - Parameter now: Seconds since 1970.
    public init(key: any ProofKey, now: @escaping @Sendable () -> Int64) {
        self.key = key
        self.now = now
        let coordinates = key.publicPoint.dropFirst()
        var json = JSONWriter()
        json.object { json in
            json.member("typ", "dpop+jwt")
            json.member("alg", "ES256")
            json.member(
                "jwk",
                object: { jwk in
                    jwk.member("kty", "EC")
                    jwk.member("crv", "P-256")
                    jwk.member("x", Base64URL.encode(Array(coordinates.prefix(32))))
                    jwk.member("y", Base64URL.encode(Array(coordinates.dropFirst(32))))
                })
        }
        header = Base64URL.encode(json.bytes)
    }

    /// A proof for one request; a request that is sent again needs another.
    ///
    /// - Parameters:
    ///   - method: Of the request, such as `POST`.
    ///   - address: Of the request; its query and fragment are left out.
    ///   - nonce: The last that the server gave.
    ///   - accessToken: Where the request carries one, as `Authorization: DPoP …`.
    /// - Throws: What the key throws.
    public func proof(
        _ method: String, _ address: String, nonce: String? = nil, accessToken: Credential? = nil
    ) async throws -> String {
        let target = address.prefix { $0 != "?" && $0 != "#" }
        var json = JSONWriter()
        json.object { json in
            json.member("jti", RandomText.make())
            json.member("htm", method)
            json.member("htu", String(target))
            json.member("iat", now())
            if let nonce { json.member("nonce", nonce) }
            if let accessToken {
                let hash = SHA256.hash(data: Array(accessToken.secret.utf8))
                json.member("ath", Base64URL.encode(Array(hash)))
            }
        }
        let signed = header + "." + Base64URL.encode(json.bytes)
        return signed + "." + Base64URL.encode(try await key.signature(over: Array(signed.utf8)))
    }
}
