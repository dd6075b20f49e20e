import StrictCoding
import BrokerHarness

extension Attack {
    /// Scope, audience, and what the app may have.
    @ListBuilder static var scopeAttacks: [Attack] {
        Attack("S-01", "a scope without openid") {
            form("draft 07", .scope("scope_lacks_openid"), profile: .deviceSecret) { $0["scope"] = "profile" }
            form("draft 07, no scope named", .granted, profile: .deviceSecret) { $0["scope"] = nil }
            form("drafts 02 to 06", .granted, profile: .transitional) { $0["scope"] = "profile" }
            form("the 2018 slides", .granted) { $0["scope"] = "profile" }
        }
        Attack("S-03", "a scope beyond what is allowed") {
            for scope in ["openid admin", "unheard.of", "OPENID"] {
                form(scope, .scope("scope_exceeds_client")) { $0["scope"] = scope }
            }
            form("beyond the member", .scope("scope_exceeds_member")) {
                $0["client_id"] = Fixture.narrow
                $0["scope"] = "openid orders.write"
            }
        }
        Attack("S-04", "a scope that needs consent") {
            form("2018", .scope("consent_required")) { $0["scope"] = "openid payments" }
            form("drafts 02 to 06", .scope("consent_required"), profile: .transitional) {
                $0["scope"] = "openid payments"
            }
            form(
                "draft 07", .refused(status: 400, error: "interaction_required", reason: "consent_required"),
                profile: .deviceSecret
            ) { $0["scope"] = "openid payments" }
        }
        Attack("S-05", "a scope that is none") {
            for text in [
                "a\"b", "a\\b", "openid\tprofile", "openid  profile", " openid", "openid ", "caf\u{e9}",
                (0..<500).map { "s\($0)" }.joined(separator: " "),
            ] {
                form(String(text.prefix(20)).debugDescription, .scope("scope_malformed")) { $0["scope"] = text }
            }
        }
        Attack("S-06", "nothing left of the scope") {
            form("device_sso alone is as if there were none", .granted) { $0["scope"] = "device_sso" }
            form("device_sso alone, of a client without a default", .scope("scope_empty")) {
                $0["client_id"] = Fixture.scopeless
                $0["scope"] = "device_sso"
            }
            form("a client without a default", .scope("scope_empty")) {
                $0["client_id"] = Fixture.scopeless
                $0["scope"] = nil
            }
        }
        Attack("S-09", "offline_access and device_sso") {
            form("both are dropped", .granted, profile: .deviceSecret) {
                $0["scope"] = "openid offline_access device_sso"
            }
            form("device_sso is dropped", .granted, profile: .deviceSecret) { $0["scope"] = "openid device_sso" }
        }
    }

    @ListBuilder static var targetAttacks: [Attack] {
        Attack("U-01", "no audience") {
            form("missing", .malformed("audience_missing")) { $0["audience"] = nil }
            form("empty", .malformed("audience_missing")) { $0["audience"] = "" }
        }
        Attack("U-02", "an audience that is not the issuer of the id_token") {
            form("an API", .target("audience_unknown")) { $0["audience"] = "https://api.example.test" }
            form("ourselves", .target("audience_unknown")) { $0["audience"] = Fixture.broker }
            form("a trailing slash", .target("audience_unknown")) { $0["audience"]?.append("/") }
            form("in capitals", .target("audience_unknown")) { $0["audience"] = $0["audience"]?.uppercased() }
            form("a slide's slip", .target("audience_unknown")) {
                $0["audience"] = "https%3F%2F%2Fidp.example.test"
            }
            Variant(name: "the other issuer", verdict: .malformed("subject_token_iss")) { fixture in
                var form = try fixture.exchange()
                form["audience"] = fixture.otherIssuer
                return HTTPRequest.token(form.parameters)
            }
        }
        Attack("U-03", "several audiences") {
            form("two", .target("audience_repeated")) { $0.append("audience", "https://api.example.test") }
            form("the same twice", .target("audience_repeated")) { $0.append("audience", $0["audience"] ?? "") }
            form("an empty one", .target("audience_repeated")) { $0.append("audience", "") }
        }
        Attack("U-04", "resource") {
            form("in an exchange", .target("resource_foreign")) { $0["resource"] = "https://payroll.internal" }
            form("two", .target("resource_repeated")) {
                $0.append("resource", "https://a.example")
                $0.append("resource", "https://b.example")
            }
            refresh("in a refresh", .target("resource_exceeds_grant")) { form, _ in
                form["resource"] = "https://payroll.internal"
            }
        }
        Attack("U-05", "another requested_token_type") {
            for type in [
                "urn:ietf:params:oauth:token-type:refresh_token", "urn:ietf:params:oauth:token-type:jwt",
                "urn:ietf:params:oauth:token-type:saml2", "access_token",
            ] {
                form(type, .malformed("requested_token_type_unsupported")) { $0["requested_token_type"] = type }
            }
            form("an access token", .granted) {
                $0["requested_token_type"] = "urn:ietf:params:oauth:token-type:access_token"
            }
        }
        Attack("U-08", "an app outside the group") {
            form("of another group", .unusable("group_mismatch")) { $0["client_id"] = Fixture.partner }
            form("of none", .unusable("client_not_in_group")) { $0["client_id"] = Fixture.loner }
            form("that may only lend its login", .unusable("direction_forbidden")) {
                $0["client_id"] = Fixture.sourceOnly
            }
            form("for which the login was made", .unusable("self_exchange")) { $0["client_id"] = Fixture.source }
            form("that may exchange its own", .granted) { $0["client_id"] = Fixture.target }
        }
        Attack("V-10", "the session of one tenant, the client of another") {
            Variant(name: "the other issuer's login", verdict: .unusable("client_not_in_group")) { fixture in
                var form = try fixture.exchangeAtOtherIssuer()
                form["client_id"] = Fixture.narrow
                return HTTPRequest.token(form.parameters)
            }
            // Known there by the same sid, and yet another login.
            Variant(name: "the sid of another issuer", verdict: .unusable("session_unknown")) { fixture in
                let login = try await fixture.login()
                return HTTPRequest.token(
                    try fixture.exchangeAtOtherIssuer { $0.claims["sid"] = login.token.claims["sid"] }.parameters
                )
            }
        }
    }
}
