import BrokerHarness
import Foundation
import NativeSSOClient
import OAuthWire
import StrictCoding

/// Document 002, chapter 6: the token exchange to the letter.
extension ScenarioRun {
    private func step(_ step: String, _ text: String) { narrator.step(.nativeSSO, step, text) }

    func exchangeParameters() async throws {
        let login = try login(of: .one)
        for name in [
            Parameter.grantType, Parameter.audience, Parameter.subjectToken, Parameter.subjectTokenType,
            Parameter.actorToken, Parameter.actorTokenType,
        ] {
            step("6.1", "without \(name) the request is refused")
            var form = form(of: login)
            form[name] = nil
            try await expectRefusal(of: form, "invalid_request")
        }
        step("6.1", "an audience that is not the issuer of the id_token is refused")
        var form = form(of: login)
        form[Parameter.audience] = "https://login.example.test"
        try await expectRefusal(of: form, "invalid_target")
        step("6.1", "scope is optional")
        form = self.form(of: login)
        form[Parameter.scope] = "openid profile"
        let answer = try await send(form)
        try expect(answer.json?.string("scope") == "openid profile", "the requested scope is granted")
    }

    func exchangeRequest() async throws {
        let login = try login(of: .one)
        var form = form(of: login)
        step("6.2", "the client says who it is by HTTP Basic, a public one with an empty password")
        form["client_id"] = nil
        let basic = BasicCredentials(clientID: SampleApp.two.clientID).headerValue
        let answer = try await send(form, [("Authorization", basic)])
        try expect(answer.status == 200, "the broker answers 200, not \(answer.status)")
        step("6.2", "the current profile names it in the form")
        try expect(try await send(self.form(of: login)).status == 200, "the broker answers 200")
    }

    func processingRules() async throws {
        let login = try login(of: .one)
        let two = endpoint(of: .two, atBroker: true)
        step("6.3", "another device value than the one of the hash: invalid_grant")
        let stolen = SharedLogin(idToken: login.shared.idToken, device: profile.foreignDevice)
        try await expectRefusal(.invalidGrant) { () async throws(ClientError) in
            try await two.exchange(stolen, issuer: sharedIssuer)
        }
        step("6.3", "an app of another vendor: invalid_grant, even with everything in hand")
        let three = endpoint(of: .three, atBroker: true)
        try await expectRefusal(.invalidGrant) { () async throws(ClientError) in
            try await three.exchange(login.shared, issuer: sharedIssuer)
        }
        step("6.3", "a scope that needs the user's consent: \(profile.consentRefusal.rawValue)")
        try await expectRefusal(profile.consentRefusal) { () async throws(ClientError) in
            try await two.exchange(login.shared, issuer: sharedIssuer, scope: "openid \(SampleApp.consentScope)")
        }
    }

    func exchangeResponse() async throws {
        let answer = try await send(form(of: try login(of: .one)))
        guard let json = answer.json else { throw StepFailure("the answer is no JSON object") }
        step("6.4", "access_token, issued_token_type, token_type, expires_in and refresh_token")
        for name in ["access_token", "expires_in", "refresh_token"] {
            try expect(json.contains(name), "the answer has \(name)")
        }
        try expect(
            json.string("issued_token_type") == TokenTypeURI.accessToken.rawValue, "issued_token_type is access_token")
        try expect(json.string("token_type")?.lowercased() == "bearer", "token_type is bearer")
        step("6.4", "Cache-Control: no-store; Pragma: no-cache; application/json")
        try expect(answer["Cache-Control"] == "no-store" && answer["Pragma"] == "no-cache", "nothing may be stored")
        try expect(answer["Content-Type"]?.hasPrefix("application/json") == true, "the answer is JSON")
    }

    /// app-two's exchange of the login.
    private func form(of login: Login) -> TokenForm {
        TokenForm.exchange(
            login.shared.idToken.secret, issuer: sharedIssuer, device: profile.deviceText(of: login.shared),
            profile: profile.nativeProfile, client: SampleApp.two.clientID)
    }

    private func send(_ form: TokenForm, _ fields: [(name: String, value: String)] = []) async throws -> HTTPAnswer {
        let answer = try await HTTPRequest.token(form.parameters, fields: fields).send(
            to: UInt16(clamping: description.ports.brokerPublic))
        narrator.note("app-two: POST \(description.tokenEndpoint) ← \(answer.status) \(answer.error ?? "")")
        return answer
    }

    private func expectRefusal(of form: TokenForm, _ error: String) async throws {
        let answer = try await send(form)
        try expect(
            answer.status == 400 && answer.error == error, "400 \(error), not \(answer.status) \(answer.error ?? "")")
    }
}
