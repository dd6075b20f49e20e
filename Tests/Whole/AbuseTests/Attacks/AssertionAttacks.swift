import BrokerTesting
import JOSE
import StrictCoding
import BrokerHarness

extension Attack {
    /// Client assertions: RFC 7523 §3. That one is good once is a scenario.
    @ListBuilder static var assertionAttacks: [Attack] {
        Attack("C-13", "an assertion that is not for us alone") {
            assertion("for us", .granted) { _, _ in }
            claim("aud", #"["\#(Fixture.broker)"]"#, .granted)
            claim("aud", nil, .client("client_assertion_aud"))
            claim("aud", #""\#(Fixture.broker)/token""#, .client("client_assertion_aud"))
            claim("aud", #""\#(Fixture.broker)/""#, .client("client_assertion_aud"))
            claim("aud", #""https://other.example/token""#, .client("client_assertion_aud"))
            claim("aud", #"["\#(Fixture.broker)", "https://other.example"]"#, .client("client_assertion_aud"))
            claim("aud", "[]", .client("client_assertion_aud"))
            assertion("for the identity provider", .client("client_assertion_aud")) { assertion, fixture in
                assertion.claims["aud"] = .string(fixture.issuer)
            }
        }
        Attack("C-15", "an assertion whose claims do not hold") {
            claim("iss", #""app-two""#, .client("client_assertion_iss"))
            claim("iss", nil, .client("client_assertion_iss"))
            claim("sub", nil, .client("client_assertion_sub"))
            claim("sub", #""nobody""#, .client("client_unknown"))
            claim("sub", #""\#(Fixture.target)""#, .client("client_method_mismatch"))
            claim("sub", #""\#(Fixture.otherSigner)""#, .client("client_assertion_unknown_key"))
            claim("exp", nil, .client("client_assertion_exp"))
            claim("jti", nil, .client("client_assertion_jti"))
            assertion("expired", .client("client_assertion_exp")) { assertion, fixture in
                assertion.claims["exp"] = .number(JSONNumber(fixture.now - 61))
                assertion.claims["iat"] = .number(JSONNumber(fixture.now - 121))
            }
            assertion("good for ten minutes", .client("client_assertion_exp")) { assertion, fixture in
                assertion.claims["exp"] = .number(JSONNumber(fixture.now + 600))
            }
            assertion("not good yet", .client("client_assertion_nbf")) { assertion, fixture in
                assertion.claims["nbf"] = .number(JSONNumber(fixture.now + 120))
            }
            claim("iat", #""now""#, .client("client_assertion_iat"))
            form("of another type", .client("client_assertion_incomplete")) {
                $0["client_assertion"] = "x"
                $0["client_assertion_type"] = "urn:ietf:params:oauth:client-assertion-type:saml2-bearer"
            }
            form("beside another client", .client("client_assertion_incomplete")) { $0["client_assertion"] = "x" }
            asserted("beside another client_id", .client("client_method_mismatch"), client: Fixture.target) { _, _ in }
            asserted("beside its own client_id", .granted, client: Fixture.signer) { _, _ in }
        }
        Attack("C-16", "an assertion that the client did not sign") {
            assertion("another client's key", .client("client_assertion_unknown_key")) { assertion, fixture in
                assertion.sign(with: fixture.keys.otherSigner)
            }
            assertion("another client's key under this one's name", .client("client_assertion_bad_signature")) {
                assertion, fixture in
                assertion.key = fixture.keys.otherSigner
            }
            assertion("the identity provider's key", .client("client_assertion_unknown_key")) { assertion, fixture in
                assertion.sign(with: fixture.keys.es256)
            }
            assertion("no algorithm", .client("client_assertion_alg_not_allowed")) { assertion, _ in
                assertion.header["alg"] = .string("none")
            }
            assertion("HS256, the public key as its secret", .client("client_assertion_alg_not_allowed")) {
                assertion, _ in
                assertion.header["alg"] = .string("HS256")
            }
            assertion("another algorithm than the key's", .client("client_assertion_alg_not_allowed")) {
                assertion, _ in
                assertion.header["alg"] = .string("RS256")
            }
            assertion("a key in the header", .client("client_assertion_bad_signature")) { assertion, fixture in
                assertion.key = fixture.keys.attacker
                assertion.header["jwk"] = .object(fixture.keys.attacker.publicKey.json)
            }
            assertion("an access token's typ", .client("client_assertion_wrong_typ")) { assertion, _ in
                assertion.header["typ"] = .string("at+jwt")
            }
            assertion("a critical extension", .client("client_assertion_header_refused")) { assertion, _ in
                assertion.header["crit"] = .array([.string("exp")])
            }
            form("an id_token", .client("client_assertion_unknown_key")) {
                $0["client_assertion_type"] = TokenForm.assertionType
                $0["client_assertion"] = $0["subject_token"]
                $0["client_id"] = Fixture.signer
            }
            form("nothing that is a token", .client("client_assertion_malformed")) {
                $0["client_assertion_type"] = TokenForm.assertionType
                $0["client_assertion"] = "a.b.c"
                $0["client_id"] = Fixture.signer
            }
        }
    }
}

extension Attack {
    /// A good exchange by the client that signs, with a bent assertion.
    fileprivate static func assertion(
        _ name: String, _ verdict: Verdict, _ bend: @escaping @Sendable (inout Assertion, Fixture) throws -> Void
    ) -> Variant {
        asserted(name, verdict, client: nil, bend)
    }

    fileprivate static func asserted(
        _ name: String, _ verdict: Verdict, client: String?,
        _ bend: @escaping @Sendable (inout Assertion, Fixture) throws -> Void
    ) -> Variant {
        Variant(name: name, verdict: verdict) { fixture in
            var assertion = fixture.assertion()
            try bend(&assertion, fixture)
            var form = try fixture.exchange().asserted(try assertion.signed())
            form["client_id"] = client
            return HTTPRequest.token(form.parameters)
        }
    }

    /// The same for one claim; `nil` leaves it out. The value is JSON text.
    fileprivate static func claim(_ name: String, _ json: String?, _ verdict: Verdict) -> Variant {
        assertion("\(name) \(json ?? "missing")", verdict) { assertion, _ in
            assertion.claims[name] = try json.map(JSONText.value)
        }
    }
}

extension Assertion {
    /// By this key, and it says so.
    fileprivate mutating func sign(with key: TestKey) {
        self.key = key
        header = key.header(type: "client-authentication+jwt")
    }
}
