import StrictCoding
import BrokerHarness
import Testing

/// How sessions begin at the broker, and how they end.
extension DiskRun {
    // MARK: Enrolments

    mutating func enrolments(by app: DiskFixture.App, _ profile: NativeProfile) async throws {
        let (fixture, name) = (fixture, "\(app), \(profile), enrolment")
        let device = Unguessable.make() + "/+= %"
        func form(_ token: IDToken, device: String) throws -> TokenForm {
            .enrolment(
                try token.signed(), issuer: fixture.provider.issuer, device: device, profile: profile,
                client: app.rawValue)
        }
        let good = try form(fixture.freshToken(of: app), device: device)
        let answer = try await granted(fixture.request(good, by: app), name)
        if profile == .deviceID {
            _ = try await granted(fixture.request(good, by: app), "\(name), again")
            var other = good
            other["actor_token"] = Unguessable.make()
            try await refused(fixture.request(other, by: app), "enrolment_token_used", name)
        } else {
            try await refused(fixture.request(good, by: app), "enrolment_token_used", name)
        }
        var strange = fixture.freshToken(of: app)
        strange.claims["aud"] = .string("somebody-else")
        try await refused(
            fixture.request(form(strange, device: device), by: app), "enrolment_other_client", name)
        try await exchanges(
            idToken: answer.json?.string("id_token"), device: answer.json?.string("device_secret") ?? device, profile,
            by: app.other, name)
    }

    /// What was enrolled is exchanged.
    private mutating func exchanges(
        idToken: String?, device: String, _ profile: NativeProfile, by app: DiskFixture.App, _ name: String
    ) async throws {
        let form = TokenForm.exchange(
            try #require(idToken, "\(name)"), issuer: DiskFixture.broker, device: device, profile: profile,
            client: app.rawValue)
        let exchanged = try await granted(fixture.request(form, by: app), "\(name), exchange")
        let refresh = TokenForm.refresh(try #require(exchanged.refreshToken), client: "")
        _ = try await granted(fixture.request(refresh, by: app), "\(name), refresh")
    }

    // MARK: Codes

    /// - Parameter profile: `nil`: the app wants nothing but the identity provider's answer.
    mutating func codes(by app: DiskFixture.App, _ profile: NativeProfile?) async throws {
        let name = "\(app), \(profile.map(\.rawValue) ?? "no profile"), code"
        let device = Unguessable.make() + "/+= %"
        func form() -> TokenForm {
            .code(Unguessable.make() + "/+=%", device: device, profile: profile, client: app.rawValue)
        }
        give(fixture.freshToken(of: app), name)
        let good = form()
        let answer = try await granted(fixture.request(good, by: app), name)
        let again = try await granted(fixture.request(good, by: app), "\(name), again")
        #expect(again.body == answer.body)
        var other = good
        other["code_verifier"] = Unguessable.make()
        try await refused(fixture.request(other, by: app), "code_used", name)
        if let profile {
            try await exchanges(
                idToken: answer.json?.string("id_token"), device: answer.json?.string("device_secret") ?? device,
                profile, by: app.other, name)
        }
        fixture.provider.token { _ in .answers(400, #"{"error":"invalid_grant"}"#) }
        try await refused(fixture.request(form(), by: app), "idp_invalid_grant", name)
        guard profile != nil else { return }
        // Of no use to the app: its refresh token is revoked.
        var strange = fixture.freshToken(of: app)
        strange.claims["aud"] = .string("somebody-else")
        give(strange, "\(name), orphan")
        let revocations = fixture.provider.revocations.count
        let orphan = try await send(fixture.request(form(), by: app), "\(name), orphan")
        #expect(orphan.error == "invalid_grant", "\(orphan.text)")
        #expect(try await fixture.sql.auditedReason(of: orphan.requestID) == "idp_answer_unusable")
        _ = try await eventually("the orphan is revoked") {
            fixture.provider.revocations.count > revocations ? true : nil
        }
    }

    /// What the identity provider has for the next code.
    private mutating func give(_ token: IDToken, _ name: String) {
        let (access, refresh, device) = (Unguessable.make(), Unguessable.make(), Unguessable.make())
        guard let idToken = try? token.signed() else { return }
        for (secret, kind) in [
            (access, "access token"), (refresh, "refresh token"), (device, "device secret"), (idToken, "id_token"),
        ] { secrets.add(secret, "\(name): the identity provider's \(kind)") }
        let body = """
            {"access_token":"\(access)","token_type":"Bearer","expires_in":3600,"refresh_token":"\(refresh)",\
            "device_secret":"\(device)","scope":"openid profile","id_token":"\(idToken)"}
            """
        fixture.provider.token { _ in .answers(200, body) }
    }

    // MARK: Logouts

    mutating func logouts() async throws {
        let login = fixture.logins.login()
        let other = fixture.logins.login()
        for login in [login, other] {
            _ = try await granted(fixture.request(try fixture.logins.exchange(login), by: .plain), "before the logout")
        }
        for token in [fixture.logins.logout(login), fixture.logins.logoutEverywhere(other)] {
            let request = HTTPRequest.logout(try token.signed())
            for _ in 0..<2 {
                let answer = try await send(request, "logout", internally: true)
                #expect(answer.status == 200, "\(answer.text)")
            }
        }
        for login in [login, other] {
            try await refused(
                fixture.request(try fixture.logins.exchange(login), by: .plain), "session_ended", "after the logout")
        }
        var forged = fixture.logins.logout(fixture.logins.login())
        forged.claims["aud"] = .string("somebody-else")
        try await refused(HTTPRequest.logout(try forged.signed()), "logout_token_aud", "logout", internally: true)
    }
}
