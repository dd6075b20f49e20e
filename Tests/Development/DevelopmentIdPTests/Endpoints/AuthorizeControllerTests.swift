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

    @Test func aSessionMayBeTooOldForAnAppAndEndsByTime() async throws {
        var lifetimes = Lifetimes()
        lifetimes.session = 100
        try await TestProvider.run(lifetimes: lifetimes) { provider in
            let browser = TestBrowser(provider)
            _ = try await browser.code()
            #expect(try await browser.authorize(["max_age": "3600"]).status == .seeOther)
            provider.clock.advance(by: 61)
            #expect(try await browser.authorize(["max_age": "60"]).status == .ok)
            provider.clock.advance(by: 38)
            #expect(try await browser.authorize().status == .seeOther)
            provider.clock.advance(by: 1)
            #expect(try await browser.authorize().status == .ok)
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

    @Test func theAppIsToldOfItsMistakesAtItsOwnAddressAlone() async throws {
        try await TestProvider.run { provider in
            for (changes, error) in Self.refusals {
                let callback = try TestBrowser.callback(try await TestBrowser(provider).authorize(changes))
                #expect(callback["error"] == error, "\(changes)")
                #expect(callback["state"] == "st&te" && callback["code"] == nil, "\(changes)")
            }
            for changes in Self.unsafe {
                let page = try await TestBrowser(provider).authorize(changes)
                #expect(page.status == .badRequest && page.headers[.location] == nil, "\(changes)")
            }
            let twice = try await TestBrowser(provider).get("/authorize?client_id=app-one&client_id=app-two")
            #expect(twice.status == .badRequest)
        }
    }

    /// An address that is not registered is never visited.
    static let unsafe: [KeyValuePairs<String, String?>] = [
        ["client_id": nil], ["client_id": "unknown"], ["redirect_uri": nil],
        ["redirect_uri": "com.example.two:/callback"], ["redirect_uri": TestProvider.redirectURI + "/"],
        ["redirect_uri": "https://evil.example/cb"], ["client_id": "app-two"],
    ]

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
