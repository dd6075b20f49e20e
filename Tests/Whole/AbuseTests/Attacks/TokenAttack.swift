import BrokerHarness
import BrokerTesting
import StrictCoding

/// A forged or wrong token of a logout, a security event or a global token revocation.
struct TokenAttack: Sendable {
    /// A signed token, and the reason of its refusal.
    typealias Forged = (name: String, token: String, reason: String)

    private let name: String
    private let reason: String
    private let bend: @Sendable (inout LogoutToken, Fixture) throws -> Void

    private init(
        _ name: String, _ reason: String, _ bend: @escaping @Sendable (inout LogoutToken, Fixture) throws -> Void
    ) {
        self.name = name
        self.reason = reason
        self.bend = bend
    }

    /// A good token, bent.
    func forged(from good: LogoutToken, _ fixture: Fixture) throws -> Forged {
        var token = good
        try bend(&token, fixture)
        return (name, try token.signed(), reason)
    }

    private static func header(_ name: String, _ json: String?, _ reason: String) -> TokenAttack {
        TokenAttack("\(name) \(json ?? "missing")", reason) { token, _ in
            token.header[name] = try json.map(JSONText.value)
        }
    }

    private static func claim(_ name: String, _ json: String?, _ reason: String) -> TokenAttack {
        TokenAttack("\(name) \(json?.prefix(40) ?? "missing")", reason) { token, _ in
            token.claims[name] = try json.map(JSONText.value)
        }
    }

    private static func time(_ name: String, _ offset: Int64, _ reason: String) -> TokenAttack {
        TokenAttack("\(name) \(offset) s from now", reason) { token, fixture in
            token.claims[name] = .number(JSONNumber(fixture.now + offset))
        }
    }

    /// Of every kind of token: L-02 to L-05 and L-09, Y-01 to Y-05.
    /// - Parameter kind: The beginning of the reasons, such as `logout_token_header_refused`.
    private static func ofEach(_ kind: String) -> [TokenAttack] {
        [
            TokenAttack("the attacker's key under the signer's name", "\(kind)_bad_signature") {
                $0.key = try $1.keys.attacker.renamed($1.keys.es256.keyID)
            },
            TokenAttack("an unknown kid", "\(kind)_unknown_key") { token, fixture in
                token.key = fixture.keys.attacker
                token.header["kid"] = .string("attacker")
            },
            TokenAttack("another algorithm", "\(kind)_alg_not_allowed") { token, fixture in
                token.key = fixture.keys.es384
                token.header["alg"] = .string("ES384")
                token.header["kid"] = .string("curve-384")
            },
            header("alg", #""none""#, "\(kind)_alg_not_allowed"), header("alg", #""HS256""#, "\(kind)_alg_not_allowed"),
            header("crit", #"["exp"]"#, "\(kind)_header_refused"), header("typ", nil, "\(kind)_wrong_typ"),
            header("typ", #""JWT""#, "\(kind)_wrong_typ"), header("typ", #""at+jwt""#, "\(kind)_wrong_typ"),
            claim("iss", nil, "\(kind)_iss"), claim("iss", #""https://evil.example""#, "\(kind)_iss"),
            claim("aud", nil, "\(kind)_aud"), claim("aud", #""https://other.example""#, "\(kind)_aud"),
            claim("aud", "[]", "\(kind)_aud"), claim("iat", nil, "\(kind)_iat"), time("iat", 120, "\(kind)_iat"),
            time("iat", -90_000, "\(kind)_iat"), claim("jti", nil, "\(kind)_jti"), claim("jti", "1", "\(kind)_jti"),
            claim("jti", "\"" + String(repeating: "j", count: 256) + "\"", "\(kind)_jti"),
        ]
    }

    /// Of tokens with an end, such as `logout_token_nbf`: L-05, Y-05.
    private static func ofExpiring(_ kind: String) -> [TokenAttack] {
        [
            claim("exp", nil, "\(kind)_exp"), claim("exp", #""soon""#, "\(kind)_exp"), time("exp", -61, "\(kind)_exp"),
            time("exp", 3600, "\(kind)_exp"), time("nbf", 120, "\(kind)_nbf"),
        ]
    }

    static let ofLogout = ofEach("logout_token") + ofExpiring("logout_token") + ofLogoutAlone

    private static let ofLogoutAlone: [TokenAttack] = [
        header("typ", #""secevent+jwt""#, "logout_token_wrong_typ"),
        TokenAttack("L-04 iss with a slash", "logout_token_iss") { token, fixture in
            token.claims["iss"] = .string(fixture.issuer + "/")
        },
        TokenAttack("L-13 another issuer's name under this one's key", "logout_token_unknown_key") {
            token, fixture in
            token.claims["iss"] = .string(fixture.otherIssuer)
        },
        claim("aud", #"["app-one","another-client"]"#, "logout_token_aud"),
        time("iat", -3600, "logout_token_iat"),
        TokenAttack("L-06 neither sub nor sid", "logout_token_sub_sid_missing") { token, _ in
            token.claims["sid"] = nil
            token.claims["sub"] = nil
        },
        claim("sid", "7", "logout_token_sid"), claim("sub", #""""#, "logout_token_sub"),
        claim("events", nil, "logout_token_events"), claim("events", "{}", "logout_token_events"),
        claim(
            "events", #"{"http://schemas.openid.net/event/backchannel-logout":1}"#, "logout_token_events"),
        claim("nonce", #""x""#, "logout_token_nonce"),
    ]

    static let ofEvents = ofEach("event_token") + ofBoth + ofEventsAlone
    static let ofRevocations = ofEach("event_token") + ofBoth + ofExpiring("event_token")

    /// Of security events and global token revocations.
    private static let ofBoth: [TokenAttack] = [
        header("typ", #""logout+jwt""#, "event_token_wrong_typ"),
        TokenAttack("Y-03 an issuer without events", "event_token_iss") { token, fixture in
            token.claims["iss"] = .string(fixture.otherIssuer)
            token.key = fixture.keys.otherIssuer
            token.header["kid"] = .string("other-issuer")
        },
    ]

    private static let ofEventsAlone: [TokenAttack] = [
        time("exp", 120, "event_token_exp"), claim("events", nil, "event_events"),
        claim("events", "{}", "event_events"),
        claim(
            "events", #"{"\#(SecurityEventType.sessionRevoked)":{},"\#(SecurityEventType.accountDisabled)":{}}"#,
            "event_events"),
        claim(
            "events", #"{"\#(SecurityEventType.sessionRevoked)":{"event_timestamp":1895000000000}}"#,
            "event_timestamp"),
        claim("sub_id", nil, "event_subject_missing"),
        claim("sub_id", #"{"format":"email","email":"a@example.com"}"#, "event_subject_format"),
        claim(
            "sub_id", #"{"format":"iss_sub","iss":"https://evil.example","sub":"user"}"#, "event_subject_foreign"),
    ]
}
