import BrokerTesting
import JOSE
import StrictCoding
import BrokerHarness

extension Attack {
    /// Well signed, and still not acceptable.
    @ListBuilder static var claimAttacks: [Attack] {
        Attack("K-01", "iss is not exactly the issuer") {
            for suffix in ["/", "/x", "?", "#"] {
                token("with \(suffix)", .malformed("subject_token_iss")) { token, fixture in
                    token.claims["iss"] = .string(fixture.issuer + suffix)
                }
            }
            claim("iss", nil, .malformed("subject_token_iss"))
            claim("iss", "null", .malformed("subject_token_iss"))
            claim("iss", #""https://evil.example""#, .malformed("subject_token_iss"))
            claim("iss", #""http://169.254.169.254/""#, .malformed("subject_token_iss"))
            claim("iss", #""http://user@127.0.0.1""#, .malformed("subject_token_iss"))
            token("in capitals", .malformed("subject_token_iss")) { token, fixture in
                token.claims["iss"] = .string(fixture.issuer.replacing("http", with: "HTTP"))
            }
            token("the other issuer", .malformed("subject_token_iss")) { token, fixture in
                token.claims["iss"] = .string(fixture.otherIssuer)
            }
            token("an array", .malformed("subject_token_iss")) { token, fixture in
                token.claims["iss"] = .array([.string(fixture.issuer)])
            }
        }
        Attack("K-06", "a login made for an app that may not share") {
            claim("aud", #""\#(Fixture.partner)""#, .unusable("group_mismatch"))
            claim("aud", #""\#(Fixture.loner)""#, .unusable("source_not_in_group"))
            claim("aud", #""nobody-knows-it""#, .unusable("source_not_in_group"))
            claim("aud", #""\#(Fixture.targetOnly)""#, .unusable("direction_forbidden"))
            claim("aud", #""\#(Fixture.target)""#, .unusable("self_exchange"))
        }
        Attack("K-07", "several audiences") {
            token("a foreign one, azp ours", .unusable("audience_outside_group")) { token, _ in
                token.claims["aud"] = .array([.string(Fixture.source), .string(Fixture.partner)])
                token.claims["azp"] = .string(Fixture.source)
            }
            token("two without azp", .malformed("subject_token_azp")) { token, _ in
                token.claims["aud"] = .array([.string(Fixture.source), .string(Fixture.targetOnly)])
            }
            token("azp not among them", .malformed("subject_token_azp")) { token, _ in
                token.claims["aud"] = .array([.string(Fixture.source), .string(Fixture.targetOnly)])
                token.claims["azp"] = .string(Fixture.partner)
            }
            token("azp differs from the only one", .malformed("subject_token_azp")) { token, _ in
                token.claims["azp"] = .string(Fixture.targetOnly)
            }
            token("azp is no text", .malformed("subject_token_azp")) { token, _ in
                token.claims["azp"] = .number(JSONNumber(1))
            }
            token("all in the group", .granted) { token, _ in
                token.claims["aud"] = .array([.string(Fixture.source), .string(Fixture.targetOnly)])
                token.claims["azp"] = .string(Fixture.source)
            }
        }
        Attack("K-08", "aud is none") {
            for json in ["[]", "7", "null", "{}", "[7]", #"[["app-one"]]"#, #""""#, nil] {
                claim("aud", json, .malformed("subject_token_aud"))
            }
        }
        Attack("K-09", "another token of the same issuer") {
            token("an access token", .malformed("subject_token_is_access_token")) { token, _ in
                token.claims["scope"] = .string("openid")
                token.claims["client_id"] = .string(Fixture.source)
            }
            claim(
                "events", #"{"http://schemas.openid.net/event/backchannel-logout":{}}"#,
                .malformed("subject_token_is_logout_token"))
        }
        Attack("L-12", "a logout token of the same issuer") {
            token("by its typ", .malformed("subject_token_wrong_typ")) { token, _ in
                token.header["typ"] = .string("logout+jwt")
            }
            token("by what it says", .malformed("subject_token_is_logout_token")) { token, _ in
                token.claims["events"] = try JSONText.value(
                    #"{"http://schemas.openid.net/event/backchannel-logout":{}}"#)
            }
        }
        Attack("P-13", "a proof of possession in place of an id_token") {
            token("signed by the issuer", .malformed("subject_token_wrong_typ")) { token, _ in
                token.header["typ"] = .string("dpop+jwt")
            }
            token("as an app makes it", .malformed("subject_token_wrong_typ")) { token, fixture in
                token.sign(with: fixture.keys.attacker)
                token.header["typ"] = .string("dpop+jwt")
                token.header["jwk"] = .object(fixture.keys.attacker.publicKey.json)
                token.claims = JSONObject()
                token.claims["htm"] = .string("POST")
                token.claims["htu"] = .string(Fixture.broker + "/token")
            }
        }
        Attack("K-10", "sub is none") {
            for json in [
                nil, #""""#, "12345", "null", "[]", #""\#(String(repeating: "u", count: 256))""#, #""a\u0000b""#,
                #""caf\u00e9""#,
            ] {
                claim("sub", json, .malformed("subject_token_sub"))
            }
        }
        Attack("K-13", "exp is none") {
            for json in [nil, "null", #""1700000000""#] { claim("exp", json, .malformed("subject_token_exp")) }
        }
        Attack("K-14", "iat is none") {
            for json in [nil, "null", #""1700000000""#] { claim("iat", json, .malformed("subject_token_iat")) }
        }
        Attack("K-15", "an expired id_token of a live login") {
            Variant(name: "three days", verdict: .granted) { fixture in
                let login = try await fixture.login()
                var token = login.token
                token.claims["iat"] = .number(JSONNumber(fixture.now - 3 * 86_400))
                token.claims["exp"] = .number(JSONNumber(fixture.now - 3 * 86_400 + 300))
                token.claims["auth_time"] = nil
                return HTTPRequest.token(try fixture.form(token, device: login.device).parameters)
            }
            // Only a token that is still good shows that the login is.
            token("of a login that nobody has seen", .unusable("session_unknown")) { token, fixture in
                token.claims["exp"] = .number(JSONNumber(fixture.now - 1))
            }
        }
        Attack("K-16", "an id_token older than any login") {
            token("400 days", .unusable("subject_token_too_old")) { token, fixture in
                token.claims["iat"] = .number(JSONNumber(fixture.now - 400 * 86_400))
                token.claims["auth_time"] = nil
            }
            token("1970", .unusable("subject_token_too_old")) { token, _ in
                token.claims["iat"] = .number(JSONNumber(0))
                token.claims["auth_time"] = nil
            }
        }
        Attack("K-17", "an id_token from the future") {
            token("10 s", .granted) { token, fixture in token.claims["iat"] = .number(JSONNumber(fixture.now + 10)) }
            token("70 s", .malformed("subject_token_iat")) { token, fixture in
                token.claims["iat"] = .number(JSONNumber(fixture.now + 70))
            }
            token("nbf in an hour", .malformed("subject_token_nbf")) { token, fixture in
                token.claims["nbf"] = .number(JSONNumber(fixture.now + 3600))
            }
            token("auth_time after iat", .malformed("subject_token_auth_time")) { token, fixture in
                token.claims["auth_time"] = .number(JSONNumber(fixture.now + 3600))
            }
            token("exp before iat", .malformed("subject_token_exp")) { token, fixture in
                token.claims["exp"] = .number(JSONNumber(fixture.now - 3600))
            }
        }
        Attack("K-18", "numbers that are none, or too many") {
            for number in [
                "1e308", "-1e308", "9223372036854775808", "-9223372036854775809", "1e400", "true", "{}", "[]",
            ] {
                for (name, reason) in [
                    ("exp", "subject_token_exp"), ("iat", "subject_token_iat"), ("nbf", "subject_token_nbf"),
                    ("auth_time", "subject_token_auth_time"),
                ] { claim(name, number, .malformed(reason)) }
            }
            claim("exp", "-1", .malformed("subject_token_exp"))
        }
        Attack("K-19", "sid is none, or another login's") {
            for json in [nil, #""""#, "7", "null", #""\#(String(repeating: "s", count: 256))""#, #""a\nb""#] {
                claim("sid", json, .malformed("subject_token_sid"))
            }
            Variant(name: "of another user", verdict: .unusable("subject_mismatch")) { fixture in
                let login = try await fixture.login()
                var token = try fixture.idToken(device: login.device)
                token.claims["sid"] = login.token.claims["sid"]
                token.claims["sub"] = .string("somebody-else")
                return HTTPRequest.token(try fixture.form(token, device: login.device).parameters)
            }
            Variant(name: "of a login that was ended", verdict: .unusable("session_ended")) { fixture in
                let login = try await fixture.login()
                try await fixture.end(login)
                return HTTPRequest.token(try fixture.form(login.token, device: login.device).parameters)
            }
            Variant(name: "of a login that has expired", verdict: .unusable("session_expired")) { fixture in
                let login = try await fixture.login()
                try await fixture.expire(login)
                return HTTPRequest.token(try fixture.form(login.token, device: login.device).parameters)
            }
            Variant(name: "of a name that had an end since", verdict: .unusable("subject_token_before_end")) {
                fixture in
                let login = try await fixture.login()
                try await fixture.outdateTokens(of: login)
                return HTTPRequest.token(try fixture.form(login.token, device: login.device).parameters)
            }
            Variant(name: "of a login that was long idle", verdict: .unusable("session_idle")) { fixture in
                let login = try await fixture.login()
                try await fixture.idle(login)
                return HTTPRequest.token(try fixture.form(login.token, device: login.device).parameters)
            }
        }
        Attack("K-21", "the hash of another device value") {
            token("another device", .unusable("device_hash_mismatch")) { token, _ in
                token.claims["di_hash"] = .string(IDToken.leftHalfHash(Unguessable.make()))
            }
            token("another secret", .unusable("device_hash_mismatch"), profile: .deviceSecret) { token, _ in
                token.claims["ds_hash"] = .string(IDToken.leftHalfHash(Unguessable.make()))
            }
            hash("the whole digest") { IDToken.digest($0) }
            hash("the right half") { IDToken.rightHalfHash($0) }
            hash("in hexadecimal") { Hexadecimal.encode(IDToken.octets($0)[..<16]) }
            hash("padded") { IDToken.leftHalfHash($0) + "==" }
            hash("in other letters") {
                String(
                    IDToken.leftHalfHash($0).map {
                        $0.isUppercase ? Character($0.lowercased()) : Character($0.uppercased())
                    })
            }
            hash("cut") { String(IDToken.leftHalfHash($0).dropLast()) }
            hash("the value itself") { $0 }
            claim("di_hash", nil, .malformed("subject_token_device_hash"))
            claim("di_hash", #""""#, .malformed("subject_token_device_hash"))
            claim("di_hash", "7", .malformed("subject_token_device_hash"))
            claim("ds_hash", nil, .malformed("subject_token_device_hash"), profile: .deviceSecret)
            claim("ds_hash", nil, .malformed("subject_token_device_hash"), profile: .transitional)
            claim("ds_hash", nil, .granted)
            claim("di_hash", nil, .granted, profile: .deviceSecret)
        }
        Attack("K-23", "claims that are not ours to check") {
            claim("nonce", #""not ours""#, .granted)
            claim("at_hash", #""garbage""#, .granted)
            claim("c_hash", "7", .granted)
            claim("unheard_of", #"{"a":[1]}"#, .granted)
        }
        Attack("K-24", "a login that is not strong or recent enough for the app") {
            for profile in NativeProfile.allCases {
                let verdict: Verdict =
                    profile == .deviceSecret
                    ? .refused(status: 400, error: "interaction_required", reason: "assurance_insufficient")
                    : .unusable("assurance_insufficient")
                strict("acr too low, \(profile)", verdict, profile) { token, fixture in
                    token.claims["acr"] = .string("urn:example:loa1")
                    token.claims["auth_time"] = .number(JSONNumber(fixture.now - 70))
                }
                strict("20 hours ago, \(profile)", verdict, profile) { token, fixture in
                    token.claims["acr"] = .string("urn:example:loa2")
                    token.claims["auth_time"] = .number(JSONNumber(fixture.now - 72_000))
                }
                strict("nobody knows when, \(profile)", verdict, profile) { token, _ in
                    token.claims["acr"] = .string("urn:example:loa2")
                    token.claims["auth_time"] = nil
                }
                strict("strong and recent, \(profile)", .granted, profile) { token, _ in
                    token.claims["acr"] = .string("urn:example:loa2")
                }
            }
        }
        Attack("K-25", "a bomb of claims") {
            token("900 members", .malformed("subject_token_malformed")) { token, _ in
                for index in 0..<900 { token.claims["c\(index)"] = .number(JSONNumber(1)) }
            }
            claimsText("200 deep", "subject_token_malformed") {
                let deep = String(repeating: #"{"a":"#, count: 200) + "1" + String(repeating: "}", count: 200)
                return $0.dropLast() + #","x":\#(deep)}"#
            }
            token("13 KiB", .malformed("form_value_too_long")) { token, _ in
                token.claims["x"] = .string(String(repeating: "x", count: 12_300))
            }
        }
        Attack("V-09", "somebody acting for somebody") {
            claim("act", #"{"sub":"admin"}"#, .malformed("subject_token_act"))
            claim("may_act", #"{"client_id":"\#(Fixture.partner)"}"#, .malformed("may_act_other_client"))
            claim("may_act", "7", .malformed("subject_token_may_act"))
            claim("may_act", #"{"client_id":"\#(Fixture.target)"}"#, .granted)
        }
    }
}

extension Attack {
    /// A good id_token but for `di_hash`, which is made from the device value in a wrong way.
    fileprivate static func hash(_ name: String, _ wrong: @escaping @Sendable (String) -> String) -> Variant {
        Variant(name: "di_hash: \(name)", verdict: .unusable("device_hash_mismatch")) { fixture in
            let device = Unguessable.make()
            var token = try fixture.idToken(device: device)
            token.claims["di_hash"] = .string(wrong(device))
            return HTTPRequest.token(try fixture.form(token, device: device).parameters)
        }
    }

    /// An exchange by the app that wants a strong and recent login.
    fileprivate static func strict(
        _ name: String, _ verdict: Verdict, _ profile: NativeProfile,
        _ bend: @escaping @Sendable (inout IDToken, Fixture) throws -> Void
    ) -> Variant {
        Variant(name: name, verdict: verdict) { fixture in
            var form = try fixture.exchange(profile) { try bend(&$0, fixture) }
            form["client_id"] = Fixture.strict
            return HTTPRequest.token(form.parameters)
        }
    }
}
