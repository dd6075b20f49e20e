import DevelopmentIdP
import HTTPTypes
import HummingbirdTesting
import NIOCore
import OAuthWire
import Testing

@Suite struct AuthorizeControllerTests {
    @Test func aUserWithoutASessionGetsTheLoginPage() async throws {
        try await TestProvider.run { provider in
            let page = try await TestBrowser(provider).authorize()
            #expect(page.status == .ok)
            #expect(page.headers[.contentType] == "text/html; charset=utf-8")
            #expect(page.headers[.cacheControl] == "no-store")
            let html = String(buffer: page.body)
            #expect(html.contains("For development only."))
            #expect(html.contains("action=\"/login\""))
            let cookie = try #require(page.headers[.setCookie])
            #expect(cookie.contains("HttpOnly") && cookie.contains("SameSite=Lax"))
        }
    }

    @Test func theLoginIsAnsweredWithCodeStateAndIssuer() async throws {
        try await TestProvider.run { provider in
            let browser = TestBrowser(provider)
            let callback = try TestBrowser.callback(try await browser.logIn(on: try await browser.authorize()))
            #expect(callback["code"]?.utf8.count == 43)
            #expect(callback["state"] == "st&te")
            #expect(callback["iss"] == TestProvider.issuer)
            #expect(callback["error"] == nil)
        }
    }

    @Test func aSessionSparesTheNextAppTheLogin() async throws {
        try await TestProvider.run { provider in
            let browser = TestBrowser(provider)
            _ = try await browser.code()
            for prompt in [nil, "none"] {
                #expect(try TestBrowser.callback(try await browser.authorize(["prompt": prompt]))["code"] != nil)
            }
            #expect(try await browser.authorize(["prompt": "login"]).status == .ok)
            #expect(try await browser.authorize(["max_age": "3600"]).status == .seeOther)
            provider.clock.advance(by: 61)
            #expect(try await browser.authorize(["max_age": "60"]).status == .ok)
        }
    }

    @Test func aSessionEndsByTime() async throws {
        var lifetimes = Lifetimes()
        lifetimes.session = 100
        try await TestProvider.run(lifetimes: lifetimes) { provider in
            let browser = TestBrowser(provider)
            _ = try await browser.code()
            provider.clock.advance(by: 99)
            #expect(try await browser.authorize().status == .seeOther)
            provider.clock.advance(by: 1)
            #expect(try await browser.authorize().status == .ok)
        }
    }

    @Test func withoutASessionSilenceIsRefused() async throws {
        try await TestProvider.run { provider in
            let callback = try TestBrowser.callback(try await TestBrowser(provider).authorize(["prompt": "none"]))
            #expect(callback["error"] == "login_required")
            #expect(callback["state"] == "st&te")
            #expect(callback["iss"] == TestProvider.issuer)
            #expect(callback["code"] == nil)
        }
    }

    static let refusals: [(KeyValuePairs<String, String?>, String)] = [
        (["code_challenge": nil], "invalid_request"),
        (["code_challenge": "tooshort"], "invalid_request"),
        (["code_challenge_method": nil], "invalid_request"),
        (["code_challenge_method": "plain"], "invalid_request"),
        (["response_type": nil], "invalid_request"),
        (["response_type": "token"], "unsupported_response_type"),
        (["response_mode": "fragment"], "invalid_request"),
        (["scope": nil], "invalid_scope"),
        (["scope": "profile"], "invalid_scope"),
        (["scope": "openid  profile"], "invalid_scope"),
        (["prompt": "none login"], "invalid_request"),
        (["prompt": "consent none"], "invalid_request"),
        (["prompt": "create"], "invalid_request"),
        (["max_age": "-1"], "invalid_request"),
        (["request": "eyJ"], "request_not_supported"),
        (["request_uri": "https://x.example"], "request_uri_not_supported"),
    ]

    @Test(arguments: refusals.indices)
    func theAppIsToldOfItsMistakes(_ index: Int) async throws {
        let (changes, error) = Self.refusals[index]
        try await TestProvider.run { provider in
            let callback = try TestBrowser.callback(try await TestBrowser(provider).authorize(changes))
            #expect(callback["error"] == error)
            #expect(callback["state"] == "st&te")
            #expect(callback["code"] == nil)
        }
    }

    static let unsafe: [KeyValuePairs<String, String?>] = [
        ["client_id": nil], ["client_id": "unknown"], ["redirect_uri": nil],
        ["redirect_uri": "com.example.two:/callback"], ["redirect_uri": TestProvider.redirectURI + "/"],
        ["redirect_uri": "https://evil.example/cb"], ["client_id": "app-two"],
    ]

    @Test(arguments: unsafe.indices)
    func anUnregisteredAddressIsNeverVisited(_ index: Int) async throws {
        try await TestProvider.run { provider in
            let page = try await TestBrowser(provider).authorize(Self.unsafe[index])
            #expect(page.status == .badRequest)
            #expect(page.headers[.location] == nil)
        }
    }

    @Test func aParameterMustNotComeTwice() async throws {
        try await TestProvider.run { provider in
            let page = try await TestBrowser(provider).get("/authorize?client_id=app-one&client_id=app-two")
            #expect(page.status == .badRequest)
        }
    }

    @Test func aLoopbackRedirectMayUseAnyPort() async throws {
        try await TestProvider.run { provider in
            let browser = TestBrowser(provider)
            let uri = "http://127.0.0.1:51004/cb"
            let page = try await browser.authorize(["client_id": "app-two", "redirect_uri": uri])
            let callback = try TestBrowser.callback(try await browser.logIn(on: page), at: uri)
            let answer = try await provider.token([
                "grant_type": "authorization_code", "client_id": "app-two", "code": callback["code"] ?? "",
                "redirect_uri": uri, "code_verifier": TestProvider.verifier,
            ])
            #expect(answer.status == .ok)
        }
    }
}
