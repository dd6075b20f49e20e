import HTTPTypes
import HummingbirdTesting
import NIOCore
import OAuthWire
import Testing

@Suite struct ConsentTests {
    @Test func consentIsForItsScope() async throws {
        try await TestProvider.run { provider in
            let browser = TestBrowser(provider)
            let page = try await browser.logIn(on: try await browser.authorize(["client_id": "app-four"]))
            #expect(page.status == .ok)
            #expect(String(buffer: page.body).contains("<li>your name</li>"))
            let allowed = try await browser.answer(page, at: "/consent", "decision", "allow")
            #expect(try TestBrowser.callback(allowed)["code"] != nil)
            let more = try await browser.authorize(
                ["client_id": "app-four", "scope": "openid profile email", "prompt": "none"])
            #expect(try TestBrowser.callback(more)["error"] == "consent_required")
            // The prompt asks for every app.
            let asked = try await browser.authorize(["prompt": "consent"])
            let both = try await browser.logIn(on: try await browser.authorize(["prompt": "login consent"]))
            for page in [asked, both] { #expect(String(buffer: page.body).contains("action=\"/consent\"")) }
        }
    }

    @Test func aFormIsGoodInItsOwnBrowserAtItsOwnAddressAndOnce() async throws {
        try await TestProvider.run { provider in
            let browser = TestBrowser(provider)
            let page = try await browser.logIn(on: try await browser.authorize(["client_id": "app-four"]))
            let stranger = try await TestBrowser(provider).answer(page, at: "/consent", "decision", "allow")
            #expect(stranger.status == .badRequest)
            #expect(try await browser.logIn(on: page).status == .badRequest)
            #expect(try await browser.answer(page, at: "/consent", "decision", "allow").status == .seeOther)
            #expect(try await browser.answer(page, at: "/consent", "decision", "allow").status == .badRequest)
        }
    }
}
