import BrokerTesting
import JOSE
import OAuthWire
import StrictCoding
import Testing

@testable import NativeSSOClient

@Suite struct AppLoginTests {
    private let phone: Phone
    private var site: Site { phone.site }
    private var shared: InMemoryKeychain { phone.shared }

    init() throws { phone = try Phone() }

    @Test func oneAppLogsInAndAnotherUsesIt() async throws {
        let outcome = try await phone.app().logIn(in: site.browser)
        #expect(outcome.claims.user == IDTokenClaims.User(issuer: Site.provider, subject: "alice"))
        #expect(outcome.claims.sessionID == "sid-1")
        let address = try #require(await site.addresses.first)
        #expect(address.hasPrefix(Site.provider + "/authorize?") && address.contains("scope=openid+device_sso"))
        let other = phone.app("app-two")
        let response = try await other.send(TransportRequest(Site.api))
        #expect(response.status == 200)
        #expect(await site.requests.last?[field: "authorization"] == "Bearer at2")
        let form = try #require(try await site.forms(Site.broker + "/token").first)
        #expect(form["client_id"] == "app-two" && form["audience"] == Site.provider && form["actor_token"] == "S1")
    }

    @Test func aLoginIsEnrolledByItsToken() async throws {
        try await phone.app { $0.sharing = .enrolment }.logIn(in: site.browser)
        let login = try #require(try await SharedLogin.load(from: shared))
        #expect(login.user?.issuer == Site.broker && login.providerIDToken != nil)
        #expect(await !site.addresses[0].contains("device_sso"))
        let exchanging = phone.app("app-two") { $0.sharing = .enrolment }
        _ = try await exchanging.accessToken()
        #expect(try await site.forms(Site.broker + "/token").last?["audience"] == Site.broker)
    }

    @Test func aLoginIsEnrolledByItsCode() async throws {
        let outcome = try await phone.app { $0.sharing = .codeEnrolment }.logIn(in: site.browser)
        #expect(outcome.claims.user.issuer == Site.broker && outcome.tokens.accessToken.secret == "idp-at")
        #expect(try await SharedLogin.load(from: shared)?.user?.issuer == Site.broker)
        #expect(try await site.forms(Site.broker + "/token").first?["code"] == "c0de")
    }

    @Test func theProfileOf2018KeepsItsDevice() async throws {
        let app = phone.app { $0.profile = .deviceID }
        for _ in 1...2 { try await app.logIn(in: site.browser) }
        let forms = try await site.forms(Site.provider + "/token")
        #expect(forms.count == 2 && forms[0]["device_id"] != nil && forms[0]["device_id"] == forms[1]["device_id"])
        #expect(forms[0]["client_id"] == nil)
    }

    @Test func aSecondLoginOnTheDeviceBringsItsSecret() async throws {
        for _ in 1...2 { try await phone.app().logIn(in: site.browser) }
        #expect(try await site.forms(Site.provider + "/token").map { $0["device_secret"] } == [nil, "S1"])
    }

    @Test func aDemandOfTheBrokerIsMet() async throws {
        let demand = LoginDemand(
            contextClasses: ["urn:loa:3"], maximumAge: 60,
            authorizationURI: Site.provider + "/authorize?response_type=code&client_id=app-one&acr_values=urn%3Aloa%3A3"
        )
        try await phone.app().logIn(meeting: demand, in: site.browser)
        #expect(await site.addresses[0].contains("acr_values=urn%3Aloa%3A3&redirect_uri="))
        let foreign = LoginDemand(authorizationURI: "https://evil.example/authorize?response_type=code")
        let error = try await phone.refusal { () async throws(ClientError) in
            _ = try await phone.app().logIn(meeting: foreign, in: site.browser)
        }
        guard case .untrustedMetadata(.otherIssuer) = error else { throw error }
        #expect(await site.addresses.count == 1)
    }

    // MARK: Bad answers

    /// Each defect: `LoginAttemptTests`.
    @Test func aBadCallbackChangesNothing() async throws {
        let error = try await phone.refusal { () async throws(ClientError) in
            try await phone.app().logIn { [site] in try await site.visit($0, adding: "code=c") + "x" }
        }
        guard case .callback(.otherState) = error else { throw error }
        #expect(error.remedy(after: .redeemCode) == .logIn)
        #expect(await shared.item(SharedLogin.item) == nil)
        #expect(try await site.forms(Site.provider + "/token").isEmpty)
    }

    /// Each defect: `IDTokenClaimsTests`.
    @Test func anIDTokenThatLiesIsNotShared() async throws {
        await site.answer(Site.provider + "/token") { _, site in
            try await site.login(Site.provider, [("nonce", nil)])
        }
        try await expectUntrusted(.otherNonce)
    }

    @Test func anIDTokenThatTheIssuerDidNotSignIsNotShared() async throws {
        let key = try TestKey(.es256, keyID: "test-ES256")
        await site.answer(Site.provider + "/token") { _, site in try await site.login(Site.provider, by: key) }
        try await expectUntrusted(.badSignature)
        await site.answer(Site.provider + "/token") { _, site in
            let idToken = try await site.idToken(Site.provider)
            let payload = idToken.split(separator: ".")[1]
            let unsigned = Base64URL.encode(#"{"alg":"none"}"#.utf8) + "." + payload + ".c2ln"
            return TransportResponse(
                status: 200,
                body: Array(#"{"access_token":"a","token_type":"Bearer","id_token":"\#(unsigned)"}"#.utf8))
        }
        try await expectUntrusted(.badSignature)
    }

    private func expectUntrusted(_ defect: ClientError.IDTokenDefect) async throws {
        let error = try await phone.refusal { () async throws(ClientError) in
            _ = try await phone.app().logIn(in: site.browser)
        }
        guard case .untrustedIDToken(defect) = error else { throw error }
        #expect(error.remedy(after: .redeemCode) == .logIn)
        #expect(await shared.item(SharedLogin.item) == nil)
    }

    /// A captive portal, a proxy, half an answer, an error with status 200, an outage.
    @Test(arguments: [
        (200, "<!DOCTYPE html><title>Welcome to the hotel</title>"), (200, "{}"), (200, ""), (200, "[]"),
        (200, #"{"error":"invalid_grant"}"#), (200, #"{"access_token":"a"}"#), (200, #"{"access_token":"a","token_t"#),
        (200, #"{"access_token":"a","token_type":"Bearer","error":"invalid_grant"}"#),
        (302, ""), (404, "{}"), (503, #"{"error":"invalid_grant"}"#), (400, "<html>"),
    ])
    func anAnswerOfSomethingElseCostsNothing(_ status: Int, _ body: String) async throws {
        let app = phone.app()
        try await app.logIn(in: site.browser)
        let login = await shared.item(SharedLogin.item)
        await site.answer(Site.broker + "/token", Site.text(body, status: status))
        let error = try await phone.refusal { () async throws(ClientError) in _ = try await app.accessToken() }
        #expect(error.remedy(after: .exchange) == .retry(after: nil))
        await site.answer(Site.provider + "/token", Site.text(body, status: status))
        let second = try await phone.refusal { () async throws(ClientError) in try await app.logIn(in: site.browser) }
        #expect(second.remedy(after: .redeemCode) == .retry(after: nil))
        #expect(await shared.item(SharedLogin.item) == login)
    }

    @Test(arguments: [
        (#"{"issuer":"https://evil.example"}"#, ClientError.MetadataDefect.otherIssuer),
        (#"{"issuer":"https://idp.example.com"}"#, .missing("token_endpoint")),
        (
            #"{"issuer":"https://idp.example.com","token_endpoint":"http://idp.example.com/token"}"#,
            .insecureAddress("token_endpoint")
        ),
        (
            #"{"issuer":"https://idp.example.com","token_endpoint":"https://idp.example.com/token"}"#,
            .missing("jwks_uri")
        ),
        ("<html>", .malformed("https://idp.example.com/.well-known/openid-configuration")),
    ])
    func aDiscoveryDocumentThatLiesIsNotUsed(_ text: String, _ defect: ClientError.MetadataDefect) async throws {
        await site.answer(Site.provider + "/.well-known/openid-configuration", Site.text(text))
        let error = try await phone.refusal { () async throws(ClientError) in
            _ = try await phone.app().logIn(in: site.browser)
        }
        guard case .untrustedMetadata(defect) = error else { throw error }
        #expect(await site.addresses.isEmpty)
    }

    @Test func aNewKeyOfTheIssuerIsLoaded() async throws {
        let keys = IssuerKeys(Site.provider + "/jwks", site, now: { 1_800_000_000 })
        _ = try await keys.verify(Credential(try await site.idToken(Site.provider)))
        try await site.rotate()
        // Not at once: forged tokens must not load keys one after the other.
        let token = Credential(try await site.idToken(Site.provider))
        let error = try await phone.refusal { () async throws(ClientError) in _ = try await keys.verify(token) }
        guard case .untrustedIDToken(.badSignature) = error else { throw error }
        let clock = Clock()
        let patient = IssuerKeys(Site.provider + "/jwks", site, now: { clock.now })
        _ = try await patient.verify(token)
        try await site.rotate()
        clock.advance(by: 30)
        _ = try await patient.verify(Credential(try await site.idToken(Site.provider)))
        #expect(await site.requests.filter { $0.address == Site.provider + "/jwks" }.count == 3)
    }

    @Test func aLoginOfANewerLibraryIsNotOverwritten() async throws {
        let item = Array(#"{"version":2}"#.utf8)
        try await shared.setItem(SharedLogin.item, item)
        let error = try await phone.refusal { () async throws(ClientError) in
            _ = try await phone.app().logIn(in: site.browser)
        }
        guard case .keychainItem(.newerVersion) = error else { throw error }
        #expect(await site.addresses.isEmpty)
        #expect(await shared.item(SharedLogin.item) == item)
        try await shared.setItem(SharedLogin.item, [0x7B])
        try await phone.app().logIn(in: site.browser)
        #expect(try await SharedLogin.load(from: shared) != nil)
    }

    // MARK: Silent login

    @Test func aSilentLoginAsksTheProviderForNoPage() async throws {
        try await phone.app().logInSilently(in: site.browser)
        #expect(await site.addresses[0].contains("prompt=none"))
        let error = try await phone.refusal { () async throws(ClientError) in
            try await phone.app().logInSilently { [site] in try await site.visit($0, adding: "error=login_required") }
        }
        guard case .callback(.refused("login_required")) = error else { throw error }
    }

    /// A page that waits for the user, in a browser that ignores its cancellation.
    @Test func aSilentLoginEndsInTime() async throws {
        let (never, end) = AsyncStream<String>.makeStream()
        let error = try await phone.refusal { () async throws(ClientError) in
            try await phone.app().logInSilently(within: .milliseconds(1)) { _ in
                await Task {
                    for await callback in never { return callback }; return ""
                }.value
            }
        }
        guard case .silentLoginTimedOut = error else { throw error }
        end.finish()
    }
}
