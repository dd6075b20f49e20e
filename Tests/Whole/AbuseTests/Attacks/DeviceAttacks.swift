import BrokerHarness

extension Attack {
    /// The device value, and the types of what is presented.
    @ListBuilder static var deviceAttacks: [Attack] {
        Attack("D-02", "no actor_token_type") {
            form("missing", .malformed("actor_token_type_missing")) { $0["actor_token_type"] = nil }
            form("empty", .malformed("actor_token_type_missing")) { $0["actor_token_type"] = "" }
        }
        Attack("D-03", "no actor_token") {
            form("missing", .malformed("actor_token_missing")) { $0["actor_token"] = nil }
            form("empty", .malformed("actor_token_missing")) { $0["actor_token"] = "" }
            form("neither", .malformed("actor_token_missing")) {
                $0["actor_token"] = nil
                $0["actor_token_type"] = nil
            }
        }
        Attack("D-04", "a profile that the issuer does not offer") {
            for profile in [NativeProfile.deviceSecret, .transitional] {
                Variant(name: profile.rawValue, verdict: .malformed("profile_not_enabled")) { fixture in
                    var form = try fixture.exchangeAtOtherIssuer()
                    form["actor_token_type"] = profile.rawValue
                    return HTTPRequest.token(form.parameters)
                }
            }
        }
        Attack("D-05", "another actor_token_type") {
            for type in [
                "urn:ietf:params:oauth:token-type:access_token", "urn:ietf:params:oauth:token-type:jwt",
                "urn:ietf:params:oauth:token-type:id_token", "URN:X-OATH:PARAMS:OAUTH:TOKEN-TYPE:DEVICE-ID",
                "urn:x-oath:params:oauth:token-type:device-id ", "urn:x-oath:params:oauth:token-type:device_id",
                "urn:openid:params:token-type:device-id", "device-id",
            ] { form(type, .malformed("actor_token_type_unsupported")) { $0["actor_token_type"] = type } }
        }
        Attack("D-06", "another subject_token_type") {
            for type in [
                "urn:ietf:params:oauth:token-type:access_token", "urn:ietf:params:oauth:token-type:refresh_token",
                "urn:ietf:params:oauth:token-type:saml2", "urn:ietf:params:oauth:token-type:jwt",
                "URN:IETF:PARAMS:OAUTH:TOKEN-TYPE:ID_TOKEN", "id_token",
            ] {
                form(type, .malformed("subject_token_type_unsupported")) { $0["subject_token_type"] = type }
            }
            form("missing", .malformed("subject_token_type_missing")) { $0["subject_token_type"] = nil }
            form("the hyphen of the drafts' examples", .malformed("subject_token_type_hyphenated")) {
                $0["subject_token_type"] = "urn:ietf:params:oauth:token-type:id-token"
            }
            form("no subject_token", .malformed("subject_token_missing")) { $0["subject_token"] = nil }
        }
        Attack("D-07", "a device value that nobody knows") {
            for profile in NativeProfile.allCases {
                form("\(profile)", .unusable("device_hash_mismatch"), profile: profile) {
                    $0["actor_token"] = Unguessable.make()
                }
            }
        }
        Attack("D-12", "the device of one user, the id_token of another") {
            Variant(name: "a shared phone", verdict: .unusable("device_hash_mismatch")) { fixture in
                let (first, second) = (try await fixture.login(), try await fixture.login())
                return HTTPRequest.token(try fixture.form(second.token, device: first.device).parameters)
            }
        }
        Attack("D-14", "a token in place of the device value") {
            form("unsigned, naming an admin", .unusable("device_hash_mismatch"), profile: .deviceSecret) {
                $0["actor_token"] = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZG1pbiIsIm1heV9hY3QiOnt9fQ."
            }
            form("the id_token itself", .unusable("device_hash_mismatch"), profile: .deviceSecret) {
                $0["actor_token"] = $0["subject_token"]
            }
        }
        Attack("D-19", "a device_id that is none") {
            for (character, count) in [("a", 21), ("a", 513), ("é", 30)] {
                form("\(count) times \(character)", .malformed("actor_token_malformed")) {
                    $0["actor_token"] = String(repeating: character, count: count)
                }
            }
            form("a tab", .malformed("form_control_character")) {
                $0["actor_token"] = String(repeating: "\t", count: 30)
            }
            device("22 characters", .granted, "abcdefghijklmnopqrstuv")
            device("512 characters", .granted, String(repeating: "a", count: 512))
            device(
                "in other letters", .unusable("device_hash_mismatch"), "ABCDEFGHIJKLMNOPQRSTUV",
                boundTo: "abcdefghijklmnopqrstuv")
        }
        Attack("D-21", "a device that the operator has blocked") {
            Variant(name: "blocked", verdict: .unusable("device_blocked")) { fixture in
                let login = try await fixture.login()
                try await fixture.blockDevice(of: login)
                return HTTPRequest.token(try fixture.form(login.token, device: login.device).parameters)
            }
        }
    }
}

extension Attack {
    /// An exchange with this device value, and an id_token for it or another.
    fileprivate static func device(
        _ name: String, _ verdict: Verdict, _ value: String, boundTo bound: String? = nil
    ) -> Variant {
        Variant(name: name, verdict: verdict) { fixture in
            let token = try fixture.idToken(device: bound ?? value)
            return HTTPRequest.token(try fixture.form(token, device: value).parameters)
        }
    }
}
