import BrokerHarness
import BrokerTesting
import StrictCoding
import Testing

/// Forged or wrong security event tokens, and JWTs of a global token revocation.
extension TokenAttack {
    private static func header(_ id: String, _ name: String, _ text: String?, _ reason: String) -> TokenAttack {
        TokenAttack(id, "\(name) \(text ?? "missing")", reason) { token, _ in
            token.header[name] = text.map(JSONValue.string)
        }
    }

    /// Of both kinds of token.
    static let ofBoth: [TokenAttack] = [
        TokenAttack("Y-01", "the attacker's key under the signer's name", "event_token_bad_signature") {
            $0.key = try $1.keys.attacker.renamed($1.keys.es256.keyID)
        },
        TokenAttack("Y-01", "an unknown kid", "event_token_unknown_key") { token, fixture in
            token.key = fixture.keys.attacker
            token.header["kid"] = .string("attacker")
        },
        TokenAttack("Y-01", "another algorithm", "event_token_alg_not_allowed") { token, fixture in
            token.key = fixture.keys.es384
            token.header["alg"] = .string("ES384")
            token.header["kid"] = .string("curve-384")
        },
        header("Y-01", "alg", "none", "event_token_alg_not_allowed"),
        header("Y-01", "alg", "HS256", "event_token_alg_not_allowed"),
        TokenAttack("Y-01", "crit", "event_token_header_refused") { token, _ in
            token.header["crit"] = .array([.string("exp")])
        },
        header("Y-02", "typ", nil, "event_token_wrong_typ"),
        header("Y-02", "typ", "JWT", "event_token_wrong_typ"),
        header("Y-02", "typ", "logout+jwt", "event_token_wrong_typ"),
        header("Y-02", "typ", "at+jwt", "event_token_wrong_typ"),
        claim("Y-03", "iss", nil, "event_token_iss"),
        claim("Y-03", "iss", #""https://evil.example""#, "event_token_iss"),
        TokenAttack("Y-03", "an issuer without events", "event_token_iss") { token, fixture in
            token.claims["iss"] = .string(fixture.otherIssuer)
            token.key = fixture.keys.otherIssuer
            token.header["kid"] = .string("other-issuer")
        },
        claim("Y-04", "aud", nil, "event_token_aud"),
        claim("Y-04", "aud", #""https://other.example""#, "event_token_aud"),
        claim("Y-04", "aud", "[]", "event_token_aud"),
        time("Y-05", "iat", 120, "event_token_iat"),
        time("Y-05", "iat", -90_000, "event_token_iat"),
        claim("Y-05", "iat", nil, "event_token_iat"),
        claim("Y-05", "jti", nil, "event_token_jti"),
        claim("Y-05", "jti", "\"" + String(repeating: "j", count: 256) + "\"", "event_token_jti"),
    ]

    static let ofEvents: [TokenAttack] = [
        time("Y-05", "exp", 120, "event_token_exp"),
        claim("Y-06", "events", nil, "event_events"),
        claim("Y-06", "events", "{}", "event_events"),
        claim(
            "Y-06", "events",
            #"{"\#(SecurityEventType.sessionRevoked)":{},"\#(SecurityEventType.accountDisabled)":{}}"#, "event_events"),
        claim(
            "Y-06", "events", #"{"\#(SecurityEventType.sessionRevoked)":{"event_timestamp":1895000000000}}"#,
            "event_timestamp"),
        claim("Y-07", "sub_id", nil, "event_subject_missing"),
        claim("Y-07", "sub_id", #"{"format":"email","email":"a@example.com"}"#, "event_subject_format"),
        claim(
            "Y-07", "sub_id", #"{"format":"iss_sub","iss":"https://evil.example","sub":"user"}"#,
            "event_subject_foreign"),
    ]

    static let ofRevocations: [TokenAttack] = [
        claim("Y-05", "exp", nil, "event_token_exp"),
        time("Y-05", "exp", -61, "event_token_exp"),
        time("Y-05", "exp", 3600, "event_token_exp"),
        time("Y-05", "nbf", 120, "event_token_nbf"),
    ]
}

extension Fixture {
    /// A good security event about the user of a login.
    func event(_ type: String, of login: Login) -> LogoutToken { logins.event(type, of: login, audience: Self.broker) }

    /// A good JWT for one revocation.
    func revocation() -> LogoutToken { logins.revocation(audience: Self.broker) }

    func subject(of login: Login) -> String { String(decoding: logins.subject(of: login).octets, as: UTF8.self) }

    func send(event token: String) async throws -> HTTPAnswer {
        try await HTTPRequest.securityEvent(token).send(to: backchannel.port)
    }

    func send(revocation token: String, _ body: String) async throws -> HTTPAnswer {
        try await HTTPRequest.globalTokenRevocation(token, Array(body.utf8)).send(to: backchannel.port)
    }
}
