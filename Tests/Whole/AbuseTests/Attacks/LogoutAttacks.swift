import BrokerTesting
import StrictCoding
import BrokerHarness
import Testing

/// A forged or wrong token of a logout, a security event or a global token revocation.
struct TokenAttack: Sendable, CustomTestStringConvertible {
    let id: String
    let name: String
    let reason: String
    let bend: @Sendable (inout LogoutToken, Fixture) throws -> Void

    var testDescription: String { "\(id) \(name)" }

    init(
        _ id: String, _ name: String, _ reason: String,
        _ bend: @escaping @Sendable (inout LogoutToken, Fixture) throws -> Void
    ) {
        self.id = id
        self.name = name
        self.reason = reason
        self.bend = bend
    }

    static func claim(_ id: String, _ name: String, _ json: String?, _ reason: String) -> TokenAttack {
        TokenAttack(id, "\(name) \(json?.prefix(40) ?? "missing")", reason) { token, _ in
            token.claims[name] = try json.map(JSONText.value)
        }
    }

    static func time(_ id: String, _ name: String, _ offset: Int64, _ reason: String) -> TokenAttack {
        TokenAttack(id, "\(name) \(offset) s from now", reason) { token, fixture in
            token.claims[name] = .number(JSONNumber(fixture.now + offset))
        }
    }

    static let ofLogout: [TokenAttack] = [
        TokenAttack("L-02", "the attacker's key under the issuer's name", "logout_token_bad_signature") {
            $0.key = try $1.keys.attacker.renamed($1.keys.es256.keyID)
        },
        TokenAttack("L-02", "an unknown kid", "logout_token_unknown_key") { token, fixture in
            token.key = fixture.keys.attacker
            token.header["kid"] = .string("attacker")
        },
        TokenAttack("L-02", "another algorithm", "logout_token_alg_not_allowed") { token, fixture in
            token.key = fixture.keys.es384
            token.header["alg"] = .string("ES384")
            token.header["kid"] = .string("curve-384")
        },
        TokenAttack("L-02", "alg none", "logout_token_alg_not_allowed") { token, _ in
            token.header["alg"] = .string("none")
        },
        TokenAttack("L-02", "HS256", "logout_token_alg_not_allowed") { token, _ in
            token.header["alg"] = .string("HS256")
        },
        TokenAttack("L-03", "typ JWT", "logout_token_wrong_typ") { token, _ in token.header["typ"] = .string("JWT") },
        TokenAttack("L-03", "no typ", "logout_token_wrong_typ") { token, _ in token.header["typ"] = nil },
        TokenAttack("L-03", "typ secevent+jwt", "logout_token_wrong_typ") { token, _ in
            token.header["typ"] = .string("secevent+jwt")
        },
        claim("L-04", "iss", nil, "logout_token_iss"),
        claim("L-04", "iss", #""https://evil.example""#, "logout_token_iss"),
        TokenAttack("L-04", "iss with a slash", "logout_token_iss") { token, fixture in
            token.claims["iss"] = .string(fixture.issuer + "/")
        },
        TokenAttack("L-13", "another issuer's name under this one's key", "logout_token_unknown_key") {
            token, fixture in
            token.claims["iss"] = .string(fixture.otherIssuer)
        },
        claim("L-04", "aud", nil, "logout_token_aud"),
        claim("L-04", "aud", #""another-client""#, "logout_token_aud"),
        claim("L-04", "aud", #"["app-one","another-client"]"#, "logout_token_aud"),
        claim("L-04", "aud", "[]", "logout_token_aud"),
        claim("L-05", "exp", nil, "logout_token_exp"),
        time("L-05", "exp", -61, "logout_token_exp"),
        time("L-05", "exp", 3600, "logout_token_exp"),
        claim("L-05", "exp", #""soon""#, "logout_token_exp"),
        time("L-05", "iat", -3600, "logout_token_iat"),
        time("L-05", "iat", 120, "logout_token_iat"),
        claim("L-05", "iat", nil, "logout_token_iat"),
        TokenAttack("L-06", "neither sub nor sid", "logout_token_sub_sid_missing") { token, _ in
            token.claims["sid"] = nil
            token.claims["sub"] = nil
        },
        claim("L-06", "sid", "7", "logout_token_sid"),
        claim("L-06", "sub", #""""#, "logout_token_sub"),
        claim("L-07", "events", nil, "logout_token_events"),
        claim("L-07", "events", "{}", "logout_token_events"),
        claim("L-07", "events", #"{"http://schemas.openid.net/event/backchannel-logout":1}"#, "logout_token_events"),
        claim("L-08", "nonce", #""x""#, "logout_token_nonce"),
        claim("L-09", "jti", nil, "logout_token_jti"),
        claim("L-09", "jti", "1", "logout_token_jti"),
        claim("L-09", "jti", "\"" + String(repeating: "j", count: 256) + "\"", "logout_token_jti"),
    ]
}
