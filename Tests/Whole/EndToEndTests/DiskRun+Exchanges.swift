import BrokerHarness
import Testing

extension DiskRun {
    /// An exchange and its family: rotated, delivered once more, replayed, dead.
    mutating func exchanges(by app: DiskFixture.App, _ profile: NativeProfile) async throws {
        let (fixture, name) = (fixture, "\(app), \(profile)")
        let login = fixture.logins.login()
        secrets.add(login.sid, "\(name): the identity provider's sid")
        let form = try fixture.logins.exchange(login, profile)
        let first = try await granted(fixture.request(form, by: app), "\(name), exchange")
        func refresh(_ answer: HTTPAnswer) throws -> HTTPRequest {
            let token = try #require(answer.refreshToken)
            return try fixture.request(.refresh(token, client: app.rawValue), by: app)
        }
        let second = try await granted(try refresh(first), "\(name), refresh")
        let again = try await granted(try refresh(first), "\(name), the same refresh")
        #expect(again.refreshToken == second.refreshToken)
        let third = try await granted(try refresh(second), "\(name), the next refresh")
        try await refused(try refresh(first), "refresh_token_reused", name)
        try await refused(try refresh(third), "grant_revoked", name)
        let other = try await granted(
            fixture.request(fixture.logins.exchange(fixture.logins.login(), profile), by: app), "\(name), another login"
        )
        try await refused(
            try fixture.request(.refresh(try #require(other.refreshToken), client: ""), by: app.other),
            app == .bound ? "dpop_off" : "refresh_token_foreign_client", name)
        try await refused(
            try fixture.request(.refresh("nsr1." + Unguessable.make(), client: ""), by: app), "refresh_token_not_ours",
            name)
        try await refusedExchanges(form, by: app, name)
    }

    private mutating func refusedExchanges(_ good: TokenForm, by app: DiskFixture.App, _ name: String) async throws {
        let token = try #require(good["subject_token"])
        var form = good
        form["actor_token"] = Unguessable.make()
        try await refused(fixture.request(form, by: app), "device_hash_mismatch", name)
        form["actor_token"] = Unguessable.make() + "é"
        try await refused(fixture.request(form, by: app), "actor_token_malformed", name)
        form = good
        form["subject_token"] = String(token.prefix { $0 != "." }) + "." + Unguessable.make()
        try await refused(fixture.request(form, by: app), "subject_token_malformed", name)
        let parts = token.split(separator: ".")
        form["subject_token"] = "\(parts[0]).\(parts[1]).\(try fixture.otherSignature())"
        try await refused(fixture.request(form, by: app), "subject_token_bad_signature", name)
        form = good
        form.append("actor_token", Unguessable.make())
        try await refused(fixture.request(form, by: app), "form_duplicate_parameter", name)
        form = good
        form["actor_token"] = nil
        form["subject_token_type"] = NativeProfile.deviceID.rawValue
        try await refused(fixture.request(form, by: app), "subject_token_type_unsupported", name)
        var request = try fixture.request(good, by: app)
        request.target += "?subject_token=\(token)&actor_token=\(Unguessable.make())"
        try await refused(request, "http_query", name)
        form = good
        form["client_secret"] = Unguessable.make()
        try await refused(HTTPRequest.token(form.parameters), "client_secret_post", name)
    }
}
