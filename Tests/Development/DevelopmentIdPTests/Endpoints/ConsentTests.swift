import HTTPTypes
import HummingbirdTesting
import NIOCore
import OAuthWire
import Testing

@Suite struct ConsentTests {
    @Test func anAppThatNeedsConsentGetsItOnce() async throws {
        try await TestProvider.run { provider in
            let browser = TestBrowser(provider)
            let page = try await browser.logIn(on: try await browser.authorize(["client_id": "app-four"]))
            #expect(page.status == .ok)
            #expect(String(buffer: page.body).contains("<li>your name</li>"))
            let allowed = try await browser.answer(page, at: "/consent", "decision", "allow")
            #expect(try TestBrowser.callback(allowed)["code"] != nil)
            let remembered = try await browser.authorize(["client_id": "app-four", "prompt": "none"])
            #expect(try TestBrowser.callback(remembered)["code"] != nil)
            let more = try await browser.authorize(
                ["client_id": "app-four", "scope": "openid profile email", "prompt": "none"])
            #expect(try TestBrowser.callback(more)["error"] == "consent_required")
        }
    }

    @Test func aDenialIsToldToTheAppAndNotRemembered() async throws {
        try await TestProvider.run { provider in
            let browser = TestBrowser(provider)
            let page = try await browser.logIn(on: try await browser.authorize(["client_id": "app-four"]))
            let denied = try TestBrowser.callback(try await browser.answer(page, at: "/consent", "decision", "deny"))
            #expect(denied["error"] == "access_denied" && denied["code"] == nil && denied["state"] == "st&te")
            let again = try await browser.authorize(["client_id": "app-four", "prompt": "none"])
            #expect(try TestBrowser.callback(again)["error"] == "consent_required")
        }
    }

    @Test func thePromptAsksEveryApp() async throws {
        try await TestProvider.run { provider in
            let browser = TestBrowser(provider)
            _ = try await browser.code()
            for _ in 1...2 {
                let page = try await browser.authorize(["prompt": "consent"])
                let allowed = try await browser.answer(page, at: "/consent", "decision", "allow")
                #expect(try TestBrowser.callback(allowed)["code"] != nil)
            }
            let both = try await browser.authorize(["prompt": "login consent"])
            let consent = try await browser.logIn(on: both)
            #expect(String(buffer: consent.body).contains("action=\"/consent\""))
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
