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
            let both = #"["app-one","app-three"]"#
            claims(
                "a foreign one, azp ours", .unusable("audience_outside_group"),
                ["aud": #"["app-one","partner-app"]"#, "azp": #""app-one""#])
            claims("two without azp", .malformed("subject_token_azp"), ["aud": both])
            claims("azp not among them", .malformed("subject_token_azp"), ["aud": both, "azp": #""partner-app""#])
            claim("azp", #""app-three""#, .malformed("subject_token_azp"))
            claim("azp", "1", .malformed("subject_token_azp"))
            claims("all in the group", .granted, ["aud": both, "azp": #""app-one""#])
        }
        Attack("K-08", "aud is none") {
            for json in ["[]", "7", "null", "{}", "[7]", #"[["app-one"]]"#, #""""#, nil] {
                claim("aud", json, .malformed("subject_token_aud"))
            }
        }
        Attack("K-09", "another token of the same issuer") {
            claims(
                "an access token", .malformed("subject_token_is_access_token"),
                ["scope": #""openid""#, "client_id": #""app-one""#])
        }
        Attack("L-12", "a logout token of the same issuer") {
            header("typ", #""logout+jwt""#, .malformed("subject_token_wrong_typ"))
            claim(
                "events", #"{"http://schemas.openid.net/event/backchannel-logout":{}}"#,
                .malformed("subject_token_is_logout_token"))
        }
        Attack("P-13", "a proof of possession in place of an id_token") {
            header("typ", #""dpop+jwt""#, .malformed("subject_token_wrong_typ"))
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
            times("23 hours, of an unknown login", .granted, ["iat": -82_800, "exp": -79_200, "auth_time": nil])
        }
        Attack("K-16", "an id_token older than any login") {
            times("400 days", .unusable("subject_token_too_old"), ["iat": -400 * 86_400, "auth_time": nil])
            claims("1970", .unusable("subject_token_too_old"), ["iat": "0", "auth_time": nil])
            times(
                "25 hours, of an unknown login", .unusable("first_sight_token_too_old"),
                ["iat": -90_000, "auth_time": nil])
            times(
                "25 hours, expired, of an unknown login", .unusable("first_sight_token_too_old"),
                ["iat": -90_000, "exp": -86_400, "auth_time": nil])
        }
        Attack("K-17", "an id_token from the future") {
            times("10 s", .granted, ["iat": 10])
            times("70 s", .malformed("subject_token_iat"), ["iat": 70])
            times("nbf in an hour", .malformed("subject_token_nbf"), ["nbf": 3600])
            times("auth_time after iat", .malformed("subject_token_auth_time"), ["auth_time": 3600])
            times("exp before iat", .malformed("subject_token_exp"), ["exp": -3600])
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
            after("of a login that was ended", "session_ended") { try await $1.end($0) }
            after("of a login that has expired", "session_expired") { try await $1.expire($0) }
            after("of a name that had an end since", "subject_token_before_end") { try await $1.outdateTokens(of: $0) }
            after("of a login that was long idle", "session_idle") { try await $1.idle($0) }
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
                strict("acr too low, \(profile)", verdict, profile, "loa1", -70)
                strict("20 hours ago, \(profile)", verdict, profile, "loa2", -72_000)
                strict("without auth_time, \(profile)", verdict, profile, "loa2", nil)
                strict("strong and recent, \(profile)", .granted, profile, "loa2", -70)
            }
        }
        Attack("K-24", "a login whose strength is no text") {
            claim("acr", "7", .malformed("subject_token_acr_amr"))
            claim("amr", "[7]", .malformed("subject_token_acr_amr"))
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

    /// An exchange by the app that wants a strong and recent login, of this strength and so many seconds ago.
    fileprivate static func strict(
        _ name: String, _ verdict: Verdict, _ profile: NativeProfile, _ level: String, _ seconds: Int64?
    ) -> Variant {
        Variant(name: name, verdict: verdict) { fixture in
            var form = try fixture.exchange(profile) { token in
                token.claims["acr"] = .string("urn:example:\(level)")
                token.claims["auth_time"] = seconds.map { .number(JSONNumber(fixture.now + $0)) }
            }
            form["client_id"] = Fixture.strict
            return HTTPRequest.token(form.parameters)
        }
    }

    /// Several claims, as JSON texts; `nil` leaves a claim out.
    fileprivate static func claims(_ name: String, _ verdict: Verdict, _ changes: [String: String?]) -> Variant {
        token(name, verdict) { token, _ in
            for (claim, json) in changes { token.claims[claim] = try json.map(JSONText.value) }
        }
    }

    /// Claims in seconds from now; `nil` leaves a claim out.
    fileprivate static func times(_ name: String, _ verdict: Verdict, _ changes: [String: Int64?]) -> Variant {
        token(name, verdict) { token, fixture in
            for (claim, seconds) in changes {
                token.claims[claim] = seconds.map { .number(JSONNumber(fixture.now + $0)) }
            }
        }
    }

    /// The exchange of a known login after an event.
    fileprivate static func after(
        _ name: String, _ reason: String, _ event: @escaping @Sendable (Login, Fixture) async throws -> Void
    ) -> Variant {
        Variant(name: name, verdict: .unusable(reason)) { fixture in
            let login = try await fixture.login()
            try await event(login, fixture)
            return HTTPRequest.token(try fixture.form(login.token, device: login.device).parameters)
        }
    }
}
