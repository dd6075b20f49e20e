import OAuthWire
import StrictCoding
import Testing

@testable import NativeSSOClient

/// What a logged-in app does: requests, userinfo, and signing out.
@Suite struct AppLoginRequestTests {
    private let phone: Phone
    private var site: Site { phone.site }
    private var shared: InMemoryKeychain { phone.shared }

    init() throws { phone = try Phone() }

    // MARK: Userinfo and requests

    @Test func userInfoMustBeOfTheUser() async throws {
        let app = phone.app()
        let outcome = try await app.logIn(in: site.browser)
        #expect(try await app.userInfo(of: outcome).string("email") == "a@example.test")
        #expect(await site.requests.last?[field: "Authorization"] == "Bearer idp-at")
        await site.set(user: "bob")
        let error = try await phone.refusal { () async throws(ClientError) in _ = try await app.userInfo(of: outcome) }
        guard case .otherUserInfo = error else { throw error }
        for (status, body) in [(200, "<html>"), (200, "{}"), (401, "")] {
            await site.answer(Site.provider + "/me", Site.text(body, status: status))
            _ = try await phone.refusal { () async throws(ClientError) in _ = try await app.userInfo(of: outcome) }
        }
    }

    @Test func a401RenewsTheTokenOnce() async throws {
        let app = phone.app()
        try await app.logIn(in: site.browser)
        let stale = try await app.accessToken().secret
        await site.answer(Site.api) { request, _ in
            TransportResponse(status: request[field: "Authorization"] == "Bearer \(stale)" ? 401 : 200)
        }
        #expect(try await app.send(TransportRequest(Site.api, method: "POST", body: [1])).status == 200)
        let calls = await site.requests.filter { $0.address == Site.api }
        #expect(calls.count == 2 && calls.allSatisfy { $0.method == "POST" && $0.body == [1] })
        #expect(try await site.forms(Site.broker + "/token").map { $0["refresh_token"] }.last == "rt2")
        await site.answer(Site.api) { _, _ in TransportResponse(status: 401) }
        #expect(try await app.send(TransportRequest(Site.api)).status == 401)
        #expect(await site.requests.filter { $0.address == Site.api }.count == 4)
    }

    /// The broker refuses the code, or the exchange of the login that its code led to.
    @Test(arguments: [AppLogin.Sharing.codeEnrolment, .provider])
    func aRequestStartsAtMostOneLogin(_ sharing: AppLogin.Sharing) async throws {
        let (app, request) = (phone.app { $0.sharing = sharing }, TransportRequest(Site.api))
        await site.answer(Site.broker + "/token", Site.text(#"{"error":"invalid_grant"}"#, status: 400))
        for _ in 1...3 {
            let error = try await phone.refusal { () async throws(ClientError) in
                _ = try await app.send(request, loggingInWith: site.browser)
            }
            #expect(error.remedy(after: .redeemCode) == .logIn)
            #expect(await site.addresses.count == 1)
        }
        await site.answer(Site.broker + "/token") { request, site in try await site.grant(request) }
        // The user asks.
        try await app.logIn(prompt: "login", in: site.browser)
        #expect(try await app.send(request, loggingInWith: site.browser).status == 200)
        #expect(await site.addresses.count == 2)
        // After a success it may start one again.
        try await shared.removeItem(SharedLogin.item)
        #expect(try await app.send(request, loggingInWith: site.browser).status == 200)
        #expect(await site.addresses.count == 3)
    }

    @Test func callsAtTheSameTimeShareOneLogin() async throws {
        let (app, request) = (phone.app { $0.sharing = .codeEnrolment }, TransportRequest(Site.api))
        let statuses = try await withThrowingTaskGroup { [site] group in
            for _ in 1...5 { group.addTask { try await app.send(request, loggingInWith: site.browser).status } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(statuses == [200, 200, 200, 200, 200])
        #expect(await site.addresses.count == 1)
    }

    @Test func anOutageStartsNoLogin() async throws {
        let app = phone.app()
        try await app.logIn(in: site.browser)
        await site.answer(Site.broker + "/token", Site.text(#"{"error":"invalid_grant"}"#, status: 503))
        let error = try await phone.refusal { () async throws(ClientError) in
            _ = try await app.send(TransportRequest(Site.api), loggingInWith: site.browser)
        }
        #expect(error.remedy(after: .exchange) == .retry(after: nil))
        #expect(await site.addresses.count == 1)
    }

    @Test func aTokenGoesNowhereWithoutTLS() async throws {
        let app = phone.app()
        try await app.logIn(in: site.browser)
        for address in [
            "http://api.example.com/", "http://127.0.0.1.evil.example/", "http://localhost@evil.example/",
            "http://localhost:1@evil.example/", "file:///x", "",
        ] {
            let error = try await phone.refusal { () async throws(ClientError) in
                _ = try await app.send(TransportRequest(address))
            }
            guard case .insecureAddress = error else { throw error }
        }
    }

    @Test func aBoundTokenComesWithItsProof() async throws {
        let app = phone.app(prover: DPoPProver(key: SoftwareProofKey(), now: { 1_800_000_000 }))
        try await app.logIn(in: site.browser)
        await site.answer(
            Site.broker + "/token", Site.text(#"{"access_token":"at","token_type":"DPoP","expires_in":300}"#))
        await site.answer(Site.api) { request, _ in
            let payload = try #require(request[field: "DPoP"]?.split(separator: ".")[1])
            let claims = try #require(Base64URL.decode(payload.utf8))
            let proof = try #require(try JSONReader.parse(claims).object)
            #expect(proof.string("htm") == "GET" && proof.string("htu") == Site.api && proof.string("ath") != nil)
            guard proof.string("nonce") == "n1" else {
                return TransportResponse(
                    status: 401,
                    fields: [("DPoP-Nonce", "n1"), ("WWW-Authenticate", #"DPoP error="use_dpop_nonce""#)])
            }
            return TransportResponse(status: 200)
        }
        #expect(try await app.send(TransportRequest(Site.api)).status == 200)
        #expect(await site.requests.last?[field: "Authorization"] == "DPoP at")
        #expect(await site.requests.filter { $0.address == Site.broker + "/token" }.count == 1)
    }

    @Test func aBearerTokenOfAnAppWithAKeyComesWithoutAProof() async throws {
        let app = phone.app(prover: DPoPProver(key: SoftwareProofKey(), now: { 1_800_000_000 }))
        try await app.logIn(in: site.browser)
        await site.answer(
            Site.broker + "/token", Site.text(#"{"access_token":"at","token_type":"Bearer","expires_in":300}"#))
        #expect(try await app.send(TransportRequest(Site.api)).status == 200)
        let request = await site.requests.last
        #expect(request?[field: "Authorization"] == "Bearer at")
        #expect(request?[field: "DPoP"] == nil)
    }

    // MARK: Signing out

    @Test func anAppSignsOutAlone() async throws {
        let app = phone.app()
        try await app.logIn(in: site.browser)
        _ = try await app.accessToken()
        try await app.signOut(.thisApp)
        let form = try #require(try await site.forms(Site.broker + "/revoke").first)
        #expect(form["token"] == "rt2" && form["client_id"] == "app-one" && form["token_type_hint"] == nil)
        let error = try await phone.refusal { () async throws(ClientError) in _ = try await app.accessToken() }
        guard case .notLoggedIn = error else { throw error }
        #expect(try await SharedLogin.load(from: shared) != nil)
        _ = try await app.exchange()
        try await app.signOut(.thisApp)
        try await app.logIn(in: site.browser)
        _ = try await app.accessToken()
    }

    @Test func theDeviceIsSignedOut() async throws {
        let (one, two) = (phone.app(), phone.app("app-two"))
        try await one.logIn(in: site.browser)
        _ = try await two.accessToken()
        try await one.signOut(.device)
        let form = try #require(try await site.forms(Site.broker + "/revoke").first)
        #expect(form["token"] == "S1" && form["token_type_hint"] == "device_secret")
        #expect(await shared.item(SharedLogin.item) == nil)
        for app in [one, two] {
            let error = try await phone.refusal { () async throws(ClientError) in _ = try await app.accessToken() }
            guard case .notLoggedIn = error else { throw error }
        }
    }

    @Test func theDeviceOf2018IsSignedOutByARefreshToken() async throws {
        let app = phone.app { $0.profile = .deviceID }
        try await app.logIn(in: site.browser)
        try await app.signOut(.device)
        let form = try #require(try await site.forms(Site.broker + "/revoke").first)
        #expect(form["token"] == "rt2" && form["device_id"] != nil)
        #expect(await shared.item(SharedLogin.item) == nil)
    }

    @Test func aSignOutWithoutAnAnswerRemovesNothing() async throws {
        let app = phone.app()
        try await app.logIn(in: site.browser)
        let token = try await app.accessToken().secret
        await site.answer(Site.broker + "/revoke", Site.text("", status: 503))
        for extent in [AppLogin.SignOut.thisApp, .device] {
            let error = try await phone.refusal { () async throws(ClientError) in try await app.signOut(extent) }
            #expect(error.remedy(after: .refresh) == .retry(after: nil))
        }
        #expect(try await app.accessToken().secret == token)
    }

    /// Between the revocation and the removal.
    @Test func aLoginThatAnotherAppStoredMeanwhileStays() async throws {
        let app = phone.app()
        try await app.logIn(in: site.browser)
        let later = SharedLogin(idToken: .unsigned("bob"), device: .secret(Credential("later")))
        await site.answer(Site.broker + "/revoke") { [shared] _, _ in
            try await later.save(to: shared)
            return TransportResponse(status: 200)
        }
        try await app.signOut(.device)
        #expect(try await SharedLogin.load(from: shared)?.user?.subject == "bob")
    }

    @Test func theProvidersSessionEndsInTheBrowser() async throws {
        let app = phone.app()
        try await app.logIn(in: site.browser)
        let idToken = try #require(try await SharedLogin.load(from: shared)).idToken
        let browser = { @Sendable [site] (address: String) in try await site.visit(address, adding: "x=1") }
        try await app.signOutAtProvider(returningTo: "com.example.app-one:/out", in: browser)
        let address = try #require(await site.addresses.last)
        #expect(address.hasPrefix("\(Site.provider)/logout?id_token_hint=\(idToken.secret)&client_id=app-one&"))
        let error = try await phone.refusal { () async throws(ClientError) in
            try await app.signOutAtProvider(returningTo: "com.example.app-one:/out") { _ in
                "com.example.app-one:/out?state=other"
            }
        }
        guard case .callback(.otherState) = error else { throw error }
    }
}

/// The tutorial, step by step.
@Suite struct TutorialTests {
    @Test func twoAppsShareALogin() async throws {
        let site = try Site()
        let (shared, ofOne, ofTwo) = (InMemoryKeychain(), InMemoryKeychain(), InMemoryKeychain())
        let one = makeApp("app-one", shared: shared, own: ofOne, transport: site)
        let two = makeApp("app-two", shared: shared, own: ofTwo, transport: site)
        #expect(await !start(two) { _ in throw CancellationError() })
        #expect(try await logIn(one, site.browser) == "alice")
        #expect(await start(two, site.browser))
        #expect(try await firstExchange(shared: shared, own: ofTwo, transport: site).body == Array("orders".utf8))
        #expect(try await orders(two, site.browser) == Array("orders".utf8))
        try await signOut(one) { try await site.visit($0, adding: "x=1") }
        #expect(await shared.item(SharedLogin.item) == nil)
        #expect(try await orders(one, site.browser) == Array("orders".utf8))
    }
}
