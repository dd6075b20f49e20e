import StrictCoding
import SystemTesting
import Testing

/// Requests of every kind, and the secrets in them and in their answers.
struct DiskRun {
    let stage: DiskStage
    private(set) var secrets: SecretSearch
    /// Why each request was refused that was, by its name in the audit.
    private(set) var refusals: [(requestID: String, reason: String)] = []

    /// - Parameter secrets: Those that are in no request.
    init(_ stage: DiskStage, secrets: SecretSearch) {
        self.stage = stage
        self.secrets = secrets
    }

    // MARK: Sending

    mutating func send(_ request: HTTPRequest, _ name: String, internally: Bool = false) async throws -> HTTPAnswer {
        secrets.addCredentials(of: request.octets, name)
        let answer = try await request.send(to: internally ? stage.running.internalPort : stage.running.publicPort)
        secrets.addTokens(of: answer, name)
        if let token = answer.refreshToken { addTag(of: token, name) }
        return answer
    }

    /// The position in the chain that precedes the tag is stored; the tag is what nobody else can make.
    private mutating func addTag(of token: String, _ name: String) {
        guard let octets = Base64URL.decode(String(token.dropFirst("nsr1.".count))), octets.count > 32 else { return }
        secrets.add(octets: Array(octets.suffix(32)), "\(name): the tag of the refresh token")
    }

    mutating func granted(_ request: HTTPRequest, _ name: String) async throws -> HTTPAnswer {
        let answer = try await send(request, name)
        try #require(answer.status == 200, "\(name): \(answer.text)")
        return answer
    }

    mutating func refused(
        _ request: HTTPRequest, _ reason: String, _ name: String, internally: Bool = false
    ) async throws {
        let answer = try await send(request, "\(name), \(reason)", internally: internally)
        #expect((400..<500).contains(answer.status), "\(name), \(reason): \(answer.text)")
        refusals.append((try #require(answer["X-Request-Id"]), reason))
    }

    // MARK: Grants

    /// An exchange and its chain: rotated, delivered once more, replayed, dead.
    mutating func exchanges(by app: DiskStage.App, _ profile: NativeProfile) async throws {
        let (stage, name) = (stage, "\(app), \(profile)")
        let login = stage.logins.login()
        let form = try stage.logins.exchange(login, profile)
        let first = try await granted(stage.request(form, by: app), "\(name), exchange")
        func refresh(_ answer: HTTPAnswer) throws -> HTTPRequest {
            let token = try #require(answer.refreshToken)
            return try stage.request(.refresh(token, client: app.rawValue), by: app)
        }
        let second = try await granted(try refresh(first), "\(name), refresh")
        let again = try await granted(try refresh(first), "\(name), the same refresh")
        #expect(again.refreshToken == second.refreshToken)
        let third = try await granted(try refresh(second), "\(name), the next refresh")
        try await refused(try refresh(first), "refresh_token_reused", name)
        try await refused(try refresh(third), "grant_revoked", name)
        let other = try await granted(
            stage.request(stage.logins.exchange(stage.logins.login(), profile), by: app), "\(name), another login")
        try await refused(
            try stage.request(.refresh(try #require(other.refreshToken), client: ""), by: app.other),
            app == .bound ? "dpop_off" : "refresh_token_foreign_client", name)
        try await refused(
            try stage.request(.refresh("nsr1." + Unguessable.make(), client: ""), by: app), "refresh_token_not_ours",
            name)
        try await refusedExchanges(form, by: app, name)
    }

    private mutating func refusedExchanges(_ good: TokenForm, by app: DiskStage.App, _ name: String) async throws {
        let token = try #require(good["subject_token"])
        var form = good
        form["actor_token"] = Unguessable.make()
        try await refused(stage.request(form, by: app), "device_hash_mismatch", name)
        form["actor_token"] = Unguessable.make() + "é"
        try await refused(stage.request(form, by: app), "actor_token_malformed", name)
        form = good
        form["subject_token"] = String(token.prefix { $0 != "." }) + "." + Unguessable.make()
        try await refused(stage.request(form, by: app), "subject_token_malformed", name)
        let parts = token.split(separator: ".")
        form["subject_token"] = "\(parts[0]).\(parts[1]).\(try stage.otherSignature())"
        try await refused(stage.request(form, by: app), "subject_token_bad_signature", name)
        form = good
        form.append("actor_token", Unguessable.make())
        try await refused(stage.request(form, by: app), "form_duplicate_parameter", name)
        form = good
        form["actor_token"] = nil
        form["subject_token_type"] = NativeProfile.deviceID.rawValue
        try await refused(stage.request(form, by: app), "subject_token_type_unsupported", name)
        var request = try stage.request(good, by: app)
        request.target += "?subject_token=\(token)&actor_token=\(Unguessable.make())"
        try await refused(request, "http_query", name)
        form = good
        form["client_secret"] = Unguessable.make()
        try await refused(HTTPRequest.token(form.parameters), "client_secret_post", name)
    }

    /// A secret where something else belongs, which is how it gets into what is written about requests.
    mutating func misplacedSecrets() async throws {
        let good = try stage.logins.exchange(stage.logins.login())
        for parameter in [
            "grant_type", "client_id", "audience", "subject_token_type", "actor_token_type", "requested_token_type",
            "scope", "resource", "unknown",
        ] {
            let secret = Unguessable.make()
            secrets.add(secret, "a secret as \(parameter)")
            var form = good
            form[parameter] = secret
            let answer = try await send(HTTPRequest.token(form.parameters), "a secret as \(parameter)")
            #expect(answer.status == (parameter == "unknown" ? 200 : 400), "\(parameter): \(answer.text)")
        }
        for field in ["Authorization", "Cookie", "User-Agent", "X-Request-Id", "Forwarded", "Traceparent", "DPoP"] {
            let secret = Unguessable.make()
            secrets.add(secret, "a secret in \(field)")
            var request = HTTPRequest.token(good.parameters)
            request.fields.append((field, field == "Authorization" ? "Bearer \(secret)" : secret))
            _ = try await send(request, "a secret in \(field)")
        }
        var request = HTTPRequest.token(good.parameters)
        let secret = Unguessable.make()
        secrets.add(secret, "a secret in the path")
        request.target = "/\(secret)"
        #expect(try await send(request, "a secret in the path").status == 404)
    }

    /// What authenticates an app: wrong, and used up.
    mutating func refusedAuthentication() async throws {
        let stage = stage
        func form() throws -> TokenForm { try stage.logins.exchange(stage.logins.login()) }
        try await refused(
            try stage.request(form(), by: .withSecret, secret: Unguessable.make()), "client_authentication_failed",
            "a secret")
        let assertion = try stage.assertion()
        _ = try await granted(try stage.request(form(), by: .signer, assertion: assertion), "an assertion")
        try await refused(
            try stage.request(form(), by: .signer, assertion: assertion), "client_assertion_replayed", "an assertion")
        let unsigned = assertion.split(separator: ".").prefix(2).joined(separator: ".")
        let signature = try stage.otherSignature()
        try await refused(
            try stage.request(form(), by: .signer, assertion: "\(unsigned).\(signature)"),
            "client_assertion_bad_signature", "an assertion")
        let proof = try stage.proof()
        _ = try await granted(try stage.request(form(), by: .bound, proof: proof), "a proof")
        try await refused(try stage.request(form(), by: .bound, proof: proof), "dpop_replayed", "a proof")
        try await refused(
            try stage.request(form(), by: .bound, proof: "\(unsigned).\(signature)"), "dpop_wrong_typ", "a proof")
    }

    // MARK: Enrolments

    mutating func enrolments(by app: DiskStage.App, _ profile: NativeProfile) async throws {
        let (stage, name) = (stage, "\(app), \(profile), enrolment")
        let device = Unguessable.make() + "/+= %"
        func form(_ token: IDToken, device: String) throws -> TokenForm {
            var form = TokenForm.exchange(
                try token.signed(), issuer: stage.provider.issuer, device: device, profile: profile,
                client: app.rawValue)
            form["requested_token_type"] = "urn:ietf:params:oauth:token-type:id_token"
            guard profile == .deviceSecret else { return form }
            form["actor_token"] = nil
            form["actor_token_type"] = nil
            form["scope"] = "openid device_sso"
            return form
        }
        let good = try form(stage.freshToken(of: app), device: device)
        let answer = try await granted(stage.request(good, by: app), name)
        if profile == .deviceID {
            _ = try await granted(stage.request(good, by: app), "\(name), again")
            var other = good
            other["actor_token"] = Unguessable.make()
            try await refused(stage.request(other, by: app), "enrolment_token_used", name)
        } else {
            try await refused(stage.request(good, by: app), "enrolment_token_used", name)
        }
        var strange = stage.freshToken(of: app)
        strange.claims["aud"] = .string("somebody-else")
        try await refused(
            stage.request(form(strange, device: device), by: app), "enrolment_other_client", name)
        try await exchanges(
            idToken: answer.json?.string("id_token"), device: answer.json?.string("device_secret") ?? device, profile,
            by: app.other, name)
    }

    /// What was enrolled is exchanged.
    private mutating func exchanges(
        idToken: String?, device: String, _ profile: NativeProfile, by app: DiskStage.App, _ name: String
    ) async throws {
        let form = TokenForm.exchange(
            try #require(idToken, "\(name)"), issuer: DiskStage.broker, device: device, profile: profile,
            client: app.rawValue)
        let exchanged = try await granted(stage.request(form, by: app), "\(name), exchange")
        let refresh = TokenForm.refresh(try #require(exchanged.refreshToken), client: "")
        _ = try await granted(stage.request(refresh, by: app), "\(name), refresh")
    }

    // MARK: Codes

    /// - Parameter profile: `nil`: the app wants nothing but the identity provider's answer.
    mutating func codes(by app: DiskStage.App, _ profile: NativeProfile?) async throws {
        let name = "\(app), \(profile.map(\.rawValue) ?? "no profile"), code"
        let device = Unguessable.make() + "/+= %"
        func form() -> TokenForm {
            var form = TokenForm([
                "grant_type": "authorization_code", "client_id": app.rawValue,
                "code": Unguessable.make() + "/+=%", "redirect_uri": "https://app.example/cb",
                "code_verifier": Unguessable.make(),
            ])
            switch profile {
            case .deviceID: form["device_id"] = device
            case .deviceSecret, .transitional: form["scope"] = "openid device_sso"
            case nil: break
            }
            return form
        }
        give(stage.freshToken(of: app), name)
        let good = form()
        let answer = try await granted(stage.request(good, by: app), name)
        let again = try await granted(stage.request(good, by: app), "\(name), again")
        #expect(again.body == answer.body)
        var other = good
        other["code_verifier"] = Unguessable.make()
        try await refused(stage.request(other, by: app), "code_used", name)
        if let profile {
            try await exchanges(
                idToken: answer.json?.string("id_token"), device: answer.json?.string("device_secret") ?? device,
                profile, by: app.other, name)
        }
        stage.provider.token { _ in .answers(400, #"{"error":"invalid_grant"}"#) }
        try await refused(stage.request(form(), by: app), "idp_invalid_grant", name)
        guard profile != nil else { return }
        // Of no use to the app: its refresh token is revoked.
        var strange = stage.freshToken(of: app)
        strange.claims["aud"] = .string("somebody-else")
        give(strange, "\(name), orphan")
        let revocations = stage.provider.revocations.count
        let orphan = try await send(stage.request(form(), by: app), "\(name), orphan")
        #expect(orphan.status != 200, "\(orphan.text)")
        _ = try await eventually("the orphan is revoked") {
            stage.provider.revocations.count > revocations ? true : nil
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
        stage.provider.token { _ in .answers(200, body) }
    }

    // MARK: Logouts

    mutating func logouts() async throws {
        let login = stage.logins.login()
        let other = stage.logins.login()
        for login in [login, other] {
            _ = try await granted(stage.request(try stage.logins.exchange(login), by: .plain), "before the logout")
        }
        for token in [stage.logins.logout(login), stage.logins.logoutEverywhere(other)] {
            let request = HTTPRequest.logout(try token.signed())
            let answer = try await send(request, "logout", internally: true)
            #expect(answer.status == 200, "\(answer.text)")
            try await refused(request, "logout_token_replayed", "logout", internally: true)
        }
        for login in [login, other] {
            try await refused(
                stage.request(try stage.logins.exchange(login), by: .plain), "session_ended", "after the logout")
        }
        var forged = stage.logins.logout(stage.logins.login())
        forged.claims["aud"] = .string("somebody-else")
        try await refused(HTTPRequest.logout(try forged.signed()), "logout_token_aud", "logout", internally: true)
    }
}
