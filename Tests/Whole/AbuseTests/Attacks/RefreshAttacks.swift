import StrictCoding
import BrokerHarness

extension Attack {
    /// A refresh token that is forged, belongs to another client, or is no longer good.
    @ListBuilder static var refreshAttacks: [Attack] {
        Attack("R-01", "no refresh_token") {
            refresh("missing", .malformed("refresh_token_missing")) { form, _ in form["refresh_token"] = nil }
            refresh("empty", .malformed("refresh_token_missing")) { form, _ in form["refresh_token"] = "" }
        }
        Attack("R-02", "a refresh_token that is not ours") {
            presented("random") { _ in Unguessable.make() }
            presented("another prefix") { "nsr2" + $0.dropFirst(4) }
            presented("no prefix") { String($0.dropFirst(5)) }
            presented("one character more") { $0 + "A" }
            presented("one character less") { String($0.dropLast()) }
            presented("the tag of another") { token in token.dropLast(8) + "AAAAAAAA" }
            presented("not canonical") { token in token.dropLast() + (token.last == "_" ? "-" : "_") }
            presented("another alphabet") { token in token.dropLast(2) + "+/" }
            presented("another key") { token in changed(token, at: 0) }
            presented("another grant") { token in changed(token, at: 5) }
            presented("another generation") { token in changed(token, at: 20) }
            presented("zeros") { _ in "nsr1." + Base64URL.encode([UInt8](repeating: 0, count: 53)) }
        }
        Attack("R-04", "another token in its place") {
            refresh("an access token", .unusable("refresh_token_not_ours")) { form, fixture in
                form["refresh_token"] = try await fixture.family().accessToken.prefix(512) + ""
            }
            refresh("a device value", .unusable("refresh_token_not_ours")) { form, fixture in
                form["refresh_token"] = try await fixture.login().device
            }
        }
        Attack("R-05", "a family that has come to its end") {
            Variant(name: "used daily", verdict: .unusable("grant_expired")) { fixture in
                let family = try await fixture.family()
                try await fixture.expire(family)
                return HTTPRequest.token(TokenForm.refresh(family.refreshToken, client: Fixture.target).parameters)
            }
        }
        Attack("R-09", "the token after its login") {
            after("the login was ended", "session_ended") { family, fixture in try await fixture.end(family.login) }
            after("the login has expired", "session_expired") { family, fixture in
                try await fixture.expire(family.login)
            }
            after("the login was long idle", "session_idle") { family, fixture in try await fixture.idle(family.login) }
            after("the device was blocked", "device_blocked") { family, fixture in
                try await fixture.blockDevice(of: family.login)
            }
            after("the grant was revoked", "grant_revoked") { family, fixture in try await fixture.revoke(family) }
            after("the grant is not in the database", "grant_unknown") { family, fixture in
                try await fixture.delete(family)
            }
        }
        Attack("R-19", "a refresh token anywhere but in the form") {
            Variant(name: "in a cookie", verdict: .malformed("refresh_token_missing")) { fixture in
                let token = try await fixture.family().refreshToken
                var form = TokenForm.refresh(token, client: Fixture.target)
                form["refresh_token"] = nil
                return HTTPRequest.token(form.parameters, fields: [("Cookie", "refresh_token=\(token)")])
            }
            Variant(name: "in Authorization", verdict: .challenged("client_scheme_unknown")) { fixture in
                let token = try await fixture.family().refreshToken
                var form = TokenForm.refresh(token, client: Fixture.target)
                form["refresh_token"] = nil
                return HTTPRequest.token(form.parameters, fields: [("Authorization", "Bearer \(token)")])
            }
            Variant(name: "in the query", verdict: .malformed("http_query")) { fixture in
                let token = try await fixture.family().refreshToken
                var request = HTTPRequest.token(TokenForm(["grant_type": "refresh_token"]).parameters)
                request.target += "?refresh_token=\(token)"
                return request
            }
        }
        Attack("R-23", "a scope beyond the grant") {
            refresh("beyond it", .scope("scope_exceeds_grant")) { form, _ in form["scope"] = "openid payments" }
            refresh("malformed", .scope("scope_malformed")) { form, _ in form["scope"] = "openid  profile" }
            refresh("narrower", .granted) { form, _ in form["scope"] = "openid" }
        }
        Attack("D-17", "a device_secret beside a refresh") {
            refresh("of another login", .granted) { form, fixture in
                form["device_secret"] = try await fixture.login().device
            }
        }
    }

    /// Octet `index` of the token's body, changed.
    private static func changed(_ token: String, at index: Int) -> String {
        guard var octets = Base64URL.decode(String(token.dropFirst(5))), octets.indices.contains(index) else {
            return ""
        }
        octets[index] ^= 1
        return "nsr1." + Base64URL.encode(octets)
    }
}

extension Attack {
    /// An altered token of a live token family. The broker refuses it without a database query.
    fileprivate static func presented(_ name: String, _ change: @escaping @Sendable (String) -> String) -> Variant {
        refresh(name, .unusable("refresh_token_not_ours")) { form, _ in
            form["refresh_token"] = form["refresh_token"].map(change)
        }
    }

    /// A good token of a token family after an event.
    fileprivate static func after(
        _ name: String, _ reason: String, _ event: @escaping @Sendable (TokenFamily, Fixture) async throws -> Void
    ) -> Variant {
        Variant(name: name, verdict: .unusable(reason)) { fixture in
            let family = try await fixture.family()
            try await event(family, fixture)
            return HTTPRequest.token(TokenForm.refresh(family.refreshToken, client: Fixture.target).parameters)
        }
    }
}
