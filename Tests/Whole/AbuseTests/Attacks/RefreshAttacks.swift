import StrictCoding
import BrokerHarness

extension Attack {
    /// A refresh token that is not ours, not theirs, or not any more.
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
            refresh("an access token", .unusable("refresh_token_not_ours")) { form, stage in
                form["refresh_token"] = try await stage.chain().accessToken.prefix(512) + ""
            }
            refresh("a device value", .unusable("refresh_token_not_ours")) { form, stage in
                form["refresh_token"] = try await stage.login().device
            }
        }
        Attack("R-05", "a chain that has come to its end") {
            Variant(name: "used daily", verdict: .unusable("grant_expired")) { stage in
                let chain = try await stage.chain()
                try await stage.expire(chain)
                return HTTPRequest.token(TokenForm.refresh(chain.refreshToken, client: Stage.target).parameters)
            }
        }
        Attack("R-09", "the token after its login") {
            after("the login was ended", "session_ended") { chain, stage in try await stage.end(chain.login) }
            after("the login has expired", "session_expired") { chain, stage in try await stage.expire(chain.login)
            }
            after("the login was long idle", "session_idle") { chain, stage in try await stage.idle(chain.login) }
            after("the device was blocked", "device_blocked") { chain, stage in
                try await stage.blockDevice(of: chain.login)
            }
            after("the grant was revoked", "grant_revoked") { chain, stage in try await stage.revoke(chain) }
        }
        Attack("R-19", "a refresh token anywhere but in the form") {
            Variant(name: "in a cookie", verdict: .malformed("refresh_token_missing")) { stage in
                let token = try await stage.chain().refreshToken
                var form = TokenForm.refresh(token, client: Stage.target)
                form["refresh_token"] = nil
                return HTTPRequest.token(form.parameters, fields: [("Cookie", "refresh_token=\(token)")])
            }
            Variant(name: "in Authorization", verdict: .challenged("client_scheme_unknown")) { stage in
                let token = try await stage.chain().refreshToken
                var form = TokenForm.refresh(token, client: Stage.target)
                form["refresh_token"] = nil
                return HTTPRequest.token(form.parameters, fields: [("Authorization", "Bearer \(token)")])
            }
            Variant(name: "in the query", verdict: .malformed("http_query")) { stage in
                let token = try await stage.chain().refreshToken
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
            refresh("of another login", .granted) { form, stage in
                form["device_secret"] = try await stage.login().device
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
    /// A live chain's token, changed: found out before any database is asked.
    fileprivate static func presented(_ name: String, _ change: @escaping @Sendable (String) -> String) -> Variant {
        refresh(name, .unusable("refresh_token_not_ours")) { form, _ in
            form["refresh_token"] = form["refresh_token"].map(change)
        }
    }

    /// A good token of a chain to which something happened.
    fileprivate static func after(
        _ name: String, _ reason: String, _ event: @escaping @Sendable (Chain, Stage) async throws -> Void
    ) -> Variant {
        Variant(name: name, verdict: .unusable(reason)) { stage in
            let chain = try await stage.chain()
            try await event(chain, stage)
            return HTTPRequest.token(TokenForm.refresh(chain.refreshToken, client: Stage.target).parameters)
        }
    }
}
